//! The back-end of a run under MPI: MPI-IO for the statements of MPI-IO, another back-end
//! for the others.
//!
//! The machine has let the members meet before it asks for anything collective; here they
//! agree on what must be the same for all of them, and then they call.
//!
//! Views become MPI datatypes: one line for the library instead of a call for each piece. Counts of the C functions
//! are `int`; what needs more is built from pieces.

use crate::groups::Groups;
use crate::shim::{Shim, c_text};
use crate::world::{Reduce, World};
use engine::backend::{Backend, Capabilities};
use engine::call::{
    At, Call, FileCall, Lent, Memory, MpiFile, MpiMode, Queued, Reply, Submitted, Tag, Target,
    ViewId,
};
use engine::comm::Members;
use engine::host::{mount_of, striping};
use model::directory::below;
use model::pattern::{Datatype, Extent, View};
use model::permutation::fnv1a;
use model::run::MpiFileFacts;
use std::collections::{HashMap, VecDeque};
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Most bytes of one call where counts are `int`.
const CALL_BYTES: u64 = 1 << 30;

/// MPI files over a [`World`]; everything else goes to `inner`.
pub struct Files<'w, B> {
    inner: B,
    world: &'w World,
    groups: &'w Groups,
    /// The run directory and further ones, absolute: Open MPI 4.1 cannot open a relative name of one
    /// character.
    roots: Vec<Vec<u8>>,
    /// Counts above 2^31 - 1 can be given.
    large: bool,
    views: Vec<Built>,
    /// Transfers under way and their requests, the oldest first.
    under_way: VecDeque<(Tag, c_int)>,
    /// The path of the call that was prepared.
    path: CString,
    /// The transfer that was waited for last.
    ended: Option<(Tag, Reply)>,
    facts: FactsOfFiles,
    explanation: String,
}

impl<'w, B: Backend> Files<'w, B> {
    /// Adds MPI files to a back-end. `roots`: the run directory and further ones, absolute.
    pub fn new(
        inner: B,
        world: &'w World,
        groups: &'w Groups,
        roots: impl Iterator<Item = &'w Path>,
    ) -> Files<'w, B> {
        // SAFETY: it takes nothing.
        let large = unsafe { (world.shim().large)() } != 0;
        Files {
            inner,
            world,
            groups,
            roots: roots.map(|root| root.as_os_str().as_bytes().to_vec()).collect(),
            large,
            views: Vec::new(),
            under_way: VecDeque::new(),
            path: CString::default(),
            ended: None,
            facts: FactsOfFiles::default(),
            explanation: String::new(),
        }
    }

    fn shim(&self) -> &'w Shim {
        self.world.shim()
    }

    /// 0 or minus errno; an error is explained.
    #[inline(always)]
    fn reply(&mut self, call: &'static str, code: c_int) -> Reply {
        if code == 0 { 0 } else { self.refused(call, code) }
    }

    #[cold]
    fn refused(&mut self, call: &'static str, code: c_int) -> Reply {
        let (errno, explanation) = explain_error(self.shim(), call, code);
        self.explanation = explanation;
        -Reply::from(errno)
    }

    /// The communicator of a set; the shim's number.
    fn comm(&self, members: &Members) -> Result<c_int, i32> {
        self.groups.handle(members.set).map(|handle| handle.number()).ok_or(libc::EINVAL)
    }

    /// The largest values of all members.
    fn most<const N: usize>(&mut self, members: &Members, own: [i64; N]) -> Result<[i64; N], i32> {
        let Some(handle) = self.groups.handle(members.set) else { return Err(libc::EINVAL) };
        self.world.reduce(handle, own, Reduce::Max).map_err(|error| {
            self.explanation = error.to_string();
            libc::EIO
        })
    }

    /// Makes the path absolute and asks whether the program may touch it.
    fn permit(&mut self, path: &CStr, changes: bool) -> Result<(), i32> {
        let (bytes, root) = (path.to_bytes(), self.root_of(path));
        let mut whole = Vec::with_capacity(self.roots[root].len() + bytes.len() + 2);
        if !bytes.starts_with(b"/") {
            whole.extend_from_slice(&self.roots[root]);
            whole.push(b'/');
        }
        whole.extend_from_slice(bytes);
        self.path = CString::new(whole).map_err(|_| libc::EINVAL)?;
        // What the same call of POSIX would be refused for: the marker.
        let flags = if changes { libc::O_RDWR } else { libc::O_RDONLY };
        self.inner.prepare(&Call::Open { path, flags, mode: 0 })?;
        self.check_root(root)
    }

    /// The directory that a path lies in, by its number.
    fn root_of(&self, path: &CStr) -> usize {
        let lies = |root: &Vec<u8>| below(path.to_bytes(), root).is_some();
        self.roots.iter().position(lies).unwrap_or(0)
    }

    /// MPI opens files by their whole name: it must still lead to the directory that this rank is
    /// in, as all other calls do.
    fn check_root(&mut self, root: usize) -> Result<(), i32> {
        let numbers = |path: &Path| fs::metadata(path).ok().map(|facts| (facts.dev(), facts.ino()));
        let root = numbers(Path::new(OsStr::from_bytes(&self.roots[root])));
        if root.is_some() && root == numbers(Path::new(".")) {
            return Ok(());
        }
        self.explanation = "another directory has the path of the file's directory by now".into();
        Err(libc::EXDEV)
    }

    /// All members must be permitted, and must give the same path and mode.
    fn prepare_open(&mut self, path: &CStr, mode: MpiMode, members: &Members) -> Result<(), i32> {
        self.explanation.clear();
        let own = self.permit(path, mode.write).err().unwrap_or(0);
        if members.ranks.len() < 2 {
            return if own == 0 { Ok(()) } else { Err(own) };
        }
        let print = fingerprint(path.to_bytes(), mode_bits(mode));
        let [errno, most, least] = self.most(members, [i64::from(own), print, -print])?;
        if errno != 0 {
            self.explanation = "not permitted on a member of the group".into();
            return Err(errno as i32);
        }
        if most != -least {
            self.explanation =
                "the members of the group gave different paths or modes to one collective open"
                    .into();
            return Err(libc::EINVAL);
        }
        Ok(())
    }

    fn open(&mut self, mode: MpiMode, members: &Members, hints: &str) -> Reply {
        let comm = match self.comm(members) {
            Ok(comm) => comm,
            Err(errno) => return -Reply::from(errno),
        };
        // They were checked before.
        let hints = model::hints::parse(hints).unwrap_or_default();
        let c = |text: &str| CString::new(text).unwrap_or_default();
        let (keys, values): (Vec<CString>, Vec<CString>) =
            hints.iter().map(|(key, value)| (c(key), c(value))).unzip();
        let [keys_at, values_at] =
            [&keys, &values].map(|all| all.iter().map(|text| text.as_ptr()).collect::<Vec<_>>());
        let mut file = -1;
        // SAFETY: the path and the texts of the hints are NUL-terminated and outlive the call;
        // both lists have the given number of pointers.
        let code = unsafe {
            (self.shim().file_open)(
                comm,
                self.path.as_ptr(),
                mode_bits(mode),
                keys.len() as c_int,
                keys_at.as_ptr(),
                values_at.as_ptr(),
                &mut file,
            )
        };
        match self.reply("MPI_File_open", code) {
            0 => Reply::from(file),
            failed => failed,
        }
    }

    /// All members must give the same size: libraries do not notice, and wait for each other.
    fn prepare_size(&mut self, file: MpiFile, size: u64) -> Result<(), i32> {
        self.explanation.clear();
        let Some(members) = self.facts.members(file).filter(|all| all.ranks.len() > 1) else {
            return Ok(());
        };
        let size = size as i64;
        let [most, least] = self.most(&members, [size, -size])?;
        if most == -least {
            return Ok(());
        }
        self.explanation = format!(
            "the members of the group gave different sizes, from {} to {most}, to one collective call",
            -least
        );
        Err(libc::EINVAL)
    }

    #[inline(always)]
    fn transfer(
        &mut self,
        file: MpiFile,
        at: At,
        memory: &mut Memory<'_>,
        order: Option<ViewId>,
    ) -> Reply {
        let (buffer, len): (*mut c_void, _) = (memory.address().cast(), memory.len() as i64);
        let write = memory.is_written();
        let order = order.and_then(|view| self.views.get(view.0 as usize)?.memory);
        let (count, of) = order.map_or((len, BYTE), |memory| (i64::from(len > 0), memory));
        let how = |collective: bool| c_int::from(write) | c_int::from(collective) << 1;
        // SAFETY: the memory holds `count` items of the type and is borrowed by the caller for
        // the duration of the call; it is written only if it was given for reading into.
        let moved = unsafe {
            match at {
                At::Offset { offset, collective } => {
                    let (how, offset) = (how(collective), offset as i64);
                    (self.shim().file_at)(file.0, how, offset, buffer, count, of)
                }
                At::Shared { ordered } => {
                    (self.shim().file_shared)(file.0, how(ordered), buffer, count, of)
                }
            }
        };
        if moved >= 0 { moved } else { self.refused(at.name(write), -moved as c_int) }
    }

    /// Starts a transfer; its request, or minus errno.
    fn start(
        &mut self,
        file: MpiFile,
        offset: u64,
        collective: bool,
        memory: &Lent,
    ) -> Result<c_int, Reply> {
        let (address, len, write) = memory.parts();
        let how = c_int::from(write) | c_int::from(collective) << 1;
        let mut request = -1;
        // SAFETY: whoever lent the memory vouches that it stays until the request is done.
        let code = unsafe {
            let (start, len) = (self.shim().file_start, len as i64);
            start(file.0, how, offset as i64, address.cast(), len, BYTE, &mut request)
        };
        match self.reply(NAMES_START[how as usize], code) {
            0 => Ok(request),
            failed => Err(failed),
        }
    }

    fn make_view(&mut self, view: &View) -> Reply {
        match Builder::new(self.shim()).view(view) {
            Ok(built) => {
                self.views.push(built);
                self.views.len() as Reply - 1
            }
            Err((what, -1)) => {
                self.explanation = format!("{what} is more than this MPI takes");
                -Reply::from(libc::EINVAL)
            }
            Err((call, code)) => self.refused(call, code),
        }
    }

    fn set_view(&mut self, file: MpiFile, (view, by_bytes): (Option<ViewId>, u64)) -> Reply {
        let built = view.and_then(|view| self.views.get(view.0 as usize));
        let (from, of) =
            built.map_or((0, BYTE), |built| (built.displacement_bytes, built.filetype));
        let from = from.saturating_add(by_bytes) as i64;
        // SAFETY: handles the shim gave.
        let code = unsafe { (self.shim().file_set_view)(file.0, from, BYTE, of) };
        self.reply("MPI_File_set_view", code)
    }

    fn size(&mut self, file: MpiFile) -> Reply {
        let mut size = 0;
        // SAFETY: a handle the shim gave and a valid pointer.
        match unsafe { (self.shim().file_get_size)(file.0, &mut size) } {
            0 => size,
            code => self.refused("MPI_File_get_size", code),
        }
    }
}

const NAMES_START: [&str; 4] =
    ["MPI_File_iread_at", "MPI_File_iwrite_at", "MPI_File_iread_at_all", "MPI_File_iwrite_at_all"];

/// The shim's bits of an open mode.
fn mode_bits(mode: MpiMode) -> c_int {
    let access = match (mode.read, mode.write) {
        (true, true) => 4,
        (_, write) => 1 << c_int::from(write),
    };
    access
        | c_int::from(mode.create) << 3
        | c_int::from(mode.exclusive) << 4
        | c_int::from(mode.append) << 5
}

/// A number that two different opens hardly share; not negative.
fn fingerprint(path: &[u8], mode: c_int) -> i64 {
    (fnv1a(path.iter().chain(&[mode as u8])) >> 2) as i64
}

impl<B: Backend> Backend for Files<'_, B> {
    fn inner(&mut self) -> Option<&mut dyn Backend> {
        Some(&mut self.inner)
    }

    fn capabilities(&mut self) -> Capabilities {
        let mpi_call_bytes = if self.large { u64::MAX } else { CALL_BYTES };
        Capabilities { mpi_call_bytes, ..self.inner.capabilities() }
    }

    #[inline(always)]
    fn prepare(&mut self, call: &Call<'_>) -> Result<(), i32> {
        self.inner.prepare(call)
    }

    #[inline(always)]
    fn issue(&mut self, call: Call<'_>) -> Reply {
        self.inner.issue(call)
    }

    #[inline(always)]
    fn prepare_file(&mut self, call: &FileCall<'_>) -> Result<(), i32> {
        match call {
            FileCall::Open { path, mode, members, .. } => self.prepare_open(path, *mode, members),
            FileCall::SetSize { file, size } | FileCall::Preallocate { file, size } => {
                self.prepare_size(*file, *size)
            }
            FileCall::Delete { path } => {
                self.explanation.clear();
                self.permit(path, true)
            }
            _ => Ok(()),
        }
    }

    #[inline(always)]
    fn issue_file(&mut self, call: FileCall<'_>) -> Reply {
        let shim = self.shim();
        // SAFETY: handles the shim gave, numbers, and a path of this back-end that is NUL-terminated.
        let (name, code) = unsafe {
            match call {
                FileCall::Transfer { file, at, mut memory, order, .. } => {
                    return self.transfer(file, at, &mut memory, order);
                }
                FileCall::Open { mode, members, hints, .. } => {
                    return self.open(mode, members, hints);
                }
                FileCall::MakeView { view } => return self.make_view(view),
                FileCall::SetView { file, view, displacement_bytes } => {
                    return self.set_view(file, (view, displacement_bytes));
                }
                FileCall::Most { members, value } => {
                    return self.most(members, [value]).map_or(value, |most| most[0]);
                }
                FileCall::Position { file } => return self.size(file),
                FileCall::Close { file } => ("MPI_File_close", (shim.file_close)(file.0)),
                FileCall::Delete { .. } => {
                    ("MPI_File_delete", (shim.file_delete)(self.path.as_ptr()))
                }
                FileCall::Sync { file } => ("MPI_File_sync", (shim.file_sync)(file.0)),
                FileCall::SetSize { file, size } => {
                    ("MPI_File_set_size", (shim.file_set_size)(file.0, size as i64))
                }
                FileCall::Preallocate { file, size } => {
                    ("MPI_File_preallocate", (shim.file_preallocate)(file.0, size as i64))
                }
                FileCall::Seek { file, offset } => {
                    ("MPI_File_seek", (shim.file_seek)(file.0, offset as i64))
                }
                FileCall::SetAtomic { file } => {
                    ("MPI_File_set_atomicity", (shim.file_set_atomicity)(file.0, 1))
                }
            }
        };
        self.reply(name, code)
    }

    fn submit(&mut self, tag: Tag, call: Queued) -> Submitted {
        let Target::Mpi { file, collective } = call.target else {
            return self.inner.submit(tag, call);
        };
        match self.start(file, call.offset, collective, &call.memory) {
            Ok(request) => {
                self.under_way.push_back((tag, request));
                Submitted::UnderWay
            }
            Err(reply) => Submitted::Done(reply),
        }
    }

    /// Waits for the oldest operation on MPI files: other ranks may wait for its collective call.
    fn hand_over(&mut self, wait: u32) -> Reply {
        let Some((tag, request)) = self.under_way.pop_front() else {
            return self.inner.hand_over(wait);
        };
        // SAFETY: a request the shim gave, waited for once.
        let moved = unsafe { (self.shim().wait)(request) };
        let reply = if moved >= 0 { moved } else { self.refused("MPI_Wait", -moved as c_int) };
        self.ended = Some((tag, reply));
        0
    }

    fn ended(&mut self) -> Option<(Tag, Reply)> {
        self.ended.take().or_else(|| self.inner.ended())
    }

    fn explanation(&mut self) -> Option<&str> {
        Some(self.explanation.as_str()).filter(|text| !text.is_empty())
    }

    fn opened_facts(
        &mut self,
        file: MpiFile,
        members: &Members,
        hints: &str,
    ) -> Option<MpiFileFacts> {
        self.facts.opened(self.world, (file, &self.path), members, hints)
    }
}

impl<B> Drop for Files<'_, B> {
    fn drop(&mut self) {
        let builder = Builder::new(self.world.shim());
        for built in &self.views {
            builder.free(built.filetype);
            built.memory.into_iter().for_each(|memory| builder.free(memory));
        }
    }
}

/// Error classes of the MPI standard with their errno; others are `EIO`.
const CLASSES: &[(&str, i32)] = &[
    ("MPI_ERR_ACCESS", libc::EACCES),
    ("MPI_ERR_AMODE", libc::EINVAL),
    ("MPI_ERR_ARG", libc::EINVAL),
    ("MPI_ERR_BAD_FILE", libc::EINVAL),
    ("MPI_ERR_BUFFER", libc::EFAULT),
    ("MPI_ERR_COUNT", libc::EINVAL),
    ("MPI_ERR_FILE", libc::EBADF),
    ("MPI_ERR_FILE_EXISTS", libc::EEXIST),
    ("MPI_ERR_FILE_IN_USE", libc::EBUSY),
    ("MPI_ERR_INFO", libc::EINVAL),
    ("MPI_ERR_INFO_KEY", libc::EINVAL),
    ("MPI_ERR_INFO_VALUE", libc::EINVAL),
    ("MPI_ERR_IO", libc::EIO),
    ("MPI_ERR_NO_MEM", libc::ENOMEM),
    ("MPI_ERR_NO_SPACE", libc::ENOSPC),
    ("MPI_ERR_NO_SUCH_FILE", libc::ENOENT),
    ("MPI_ERR_NOT_SAME", libc::EINVAL),
    ("MPI_ERR_QUOTA", libc::EDQUOT),
    ("MPI_ERR_READ_ONLY", libc::EROFS),
    ("MPI_ERR_TYPE", libc::EINVAL),
    ("MPI_ERR_UNSUPPORTED_DATAREP", libc::EOPNOTSUPP),
    ("MPI_ERR_UNSUPPORTED_OPERATION", libc::EOPNOTSUPP),
];

/// The errno of the name of an error class.
fn errno_of(name: &str) -> i32 {
    CLASSES.iter().find(|class| class.0 == name).map_or(libc::EIO, |class| class.1)
}

/// Errno and explanation (function, class, the library's text in one line) of an error code.
#[cold]
pub(crate) fn explain_error(shim: &Shim, call: &str, code: c_int) -> (i32, String) {
    let (mut class, mut text, mut name) = (0, [0u8; 512], [0u8; 64]);
    // SAFETY: the buffers have the given sizes; the shim ends the texts with 0.
    unsafe {
        (shim.error)(code, &mut class, text.as_mut_ptr().cast(), text.len() as c_int);
        (shim.error_name)(class, name.as_mut_ptr().cast(), name.len() as c_int);
    }
    let name = match one_line(&name) {
        name if name.is_empty() => format!("error class {class}"),
        name => name,
    };
    let text = one_line(&text);
    // Some libraries begin their text with the class.
    let rest = text.strip_prefix(&name).unwrap_or(&text).trim_start_matches([':', ' ']);
    (errno_of(&name), format!("{call}: {name}: {rest}"))
}

/// A C text with its white space made single blanks.
fn one_line(bytes: &[u8]) -> String {
    c_text(bytes).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Most files with facts; more are opened without.
const FILES_MAX: usize = 64;

/// Files by number, and which facts about them were reported: who opened them, which hints were requested and which
/// are in effect, where the file system keeps them.
#[derive(Debug, Default)]
pub(crate) struct FactsOfFiles {
    members: HashMap<c_int, Members>,
    /// Path and hints of files whose facts were reported.
    reported: Vec<(Vec<u8>, String)>,
}

impl FactsOfFiles {
    /// The members that opened a file.
    pub(crate) fn members(&self, file: MpiFile) -> Option<Members> {
        self.members.get(&file.0).cloned()
    }

    /// Keeps who opened it. Member 0 gives the facts of the first files with different names
    /// or hints; of files that ranks open alone only rank 0, because there is one for each.
    pub(crate) fn opened(
        &mut self,
        world: &World,
        (file, path): (MpiFile, &CStr),
        members: &Members,
        hints: &str,
    ) -> Option<MpiFileFacts> {
        self.members.insert(file.0, members.clone());
        let is_known = self.reported.iter().any(|one| one.0 == path.to_bytes() && one.1 == hints);
        let reporter = if members.is_alone() { Some(0) } else { members.ranks.first() };
        if reporter != Some(world.rank) || is_known || self.reported.len() == FILES_MAX {
            return None;
        }
        self.reported.push((path.to_bytes().to_vec(), hints.to_string()));
        let place = Path::new(OsStr::from_bytes(path.to_bytes()));
        let file_system = mount_of(place).map(|mount| mount.file_system).unwrap_or_default();
        Some(MpiFileFacts {
            path: String::from_utf8_lossy(path.to_bytes()).into_owned(),
            ranks: members.ranks.len() as u32,
            requested_hints: hints.to_string(),
            effective_hints: effective(world.shim(), file),
            layout: if file_system == "lustre" { striping(place) } else { String::new() },
            file_system,
        })
    }
}

/// `MPI_File_get_info`: hints in effect, `key=value;key=value`.
fn effective(shim: &Shim, file: MpiFile) -> String {
    let mut count = 0;
    // SAFETY: a handle the shim gave and a valid pointer.
    if unsafe { (shim.file_hints)(file.0, &mut count) } != 0 {
        return String::new();
    }
    let hints = (0..count).filter_map(|number| hint(shim, file, number));
    hints.collect::<Vec<_>>().join(";")
}

fn hint(shim: &Shim, file: MpiFile, number: c_int) -> Option<String> {
    let (mut key, mut value) = ([0 as c_char; 256], [0 as c_char; 1024]);
    let sizes = (key.len() as c_int, value.len() as c_int);
    // SAFETY: a handle the shim gave; buffers of the given sizes, zero before, and
    // ended with 0 by the shim.
    unsafe {
        let (key_at, value_at) = (key.as_mut_ptr(), value.as_mut_ptr());
        let code = (shim.file_hint)(file.0, number, key_at, sizes.0, value_at, sizes.1);
        let key = CStr::from_ptr(key.as_ptr()).to_string_lossy().into_owned();
        let value = CStr::from_ptr(value.as_ptr()).to_string_lossy();
        (code == 0 && !key.is_empty()).then(|| format!("{key}={}", value.trim()))
    }
}

/// MPI_BYTE in the shim's table.
pub(crate) const BYTE: c_int = 0;
/// Pieces that long byte runs are cut into.
const PIECE_BYTES: u64 = 1 << 30;

/// A view as MPI knows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Built {
    pub(crate) displacement_bytes: u64,
    pub(crate) filetype: c_int,
    /// Where the bytes lie in memory, if not one after the other.
    pub(crate) memory: Option<c_int>,
}

/// An MPI error code with the function that gave it; code -1: counts beyond what MPI takes.
pub(crate) type Made<T> = Result<T, (&'static str, c_int)>;

/// Makes datatypes; intermediate ones are freed, which does not touch what is made of them.
pub(crate) struct Builder<'s> {
    shim: &'s Shim,
}

impl<'s> Builder<'s> {
    pub(crate) fn new(shim: &'s Shim) -> Builder<'s> {
        Builder { shim }
    }

    /// The types of a view.
    pub(crate) fn view(&self, view: &View) -> Made<Built> {
        let filetype = self.datatype(&view.filetype)?;
        let memory = match &view.memory {
            None => None,
            Some(blocks) => Some(self.indexed(blocks)?),
        };
        Ok(Built { displacement_bytes: view.displacement_bytes, filetype, memory })
    }

    fn datatype(&self, datatype: &Datatype) -> Made<c_int> {
        match datatype {
            Datatype::Contiguous { bytes } => self.bytes(*bytes),
            Datatype::Vector { count, stride_bytes, of } => self.vector(*count, *stride_bytes, of),
            Datatype::Subarray { sizes, subsizes, starts, element_bytes } => {
                let element = self.bytes(*element_bytes)?;
                let made = self.subarray([sizes, subsizes, starts], element);
                self.free(element);
                made
            }
            Datatype::Indexed { blocks } => self.indexed(blocks),
            Datatype::Struct { members } => {
                let mut parts = Vec::with_capacity(members.len());
                for (at, of) in members {
                    parts.push((*at, self.datatype(of)?));
                }
                self.structure(&parts)
            }
        }
    }

    /// A contiguous type of this number of bytes.
    fn bytes(&self, bytes: u64) -> Made<c_int> {
        if let Ok(count) = c_int::try_from(bytes) {
            return self.made("MPI_Type_contiguous", |made| {
                // SAFETY: a valid pointer and the handle of MPI_BYTE.
                unsafe { (self.shim.type_contiguous)(count, BYTE, made) }
            });
        }
        let piece = self.bytes(PIECE_BYTES)?;
        let body = self.blocks(bytes / PIECE_BYTES, 1, PIECE_BYTES, piece);
        self.free(piece);
        let rest = self.bytes(bytes % PIECE_BYTES)?;
        self.structure(&[(0, body?), (bytes / PIECE_BYTES * PIECE_BYTES, rest)])
    }

    fn vector(&self, count: u64, stride_bytes: u64, of: &Datatype) -> Made<c_int> {
        match of {
            Datatype::Contiguous { bytes } if *bytes <= c_int::MAX as u64 => {
                self.blocks(count, *bytes as c_int, stride_bytes, BYTE)
            }
            _ => {
                let element = self.datatype(of)?;
                let made = self.blocks(count, 1, stride_bytes, element);
                self.free(element);
                made
            }
        }
    }

    fn blocks(&self, count: u64, len: c_int, stride: u64, of: c_int) -> Made<c_int> {
        let count = int(count)?;
        self.made("MPI_Type_create_hvector", |made| {
            // SAFETY: a valid pointer, a handle the shim gave.
            unsafe { (self.shim.type_vector)(count, len, stride as i64, of, made) }
        })
    }

    fn subarray(&self, numbers: [&Vec<u64>; 3], element: c_int) -> Made<c_int> {
        let mut ints = [const { Vec::new() }; 3];
        for (ints, numbers) in ints.iter_mut().zip(numbers) {
            *ints = numbers.iter().map(|n| int(*n)).collect::<Result<Vec<c_int>, _>>()?;
        }
        let [sizes, subsizes, starts] = &ints;
        self.made("MPI_Type_create_subarray", |made| {
            let dims = sizes.len() as c_int;
            let (sizes, subsizes, starts) = (sizes.as_ptr(), subsizes.as_ptr(), starts.as_ptr());
            // SAFETY: three arrays of `dims` numbers, a valid pointer, a handle the shim gave.
            unsafe { (self.shim.type_subarray)(dims, sizes, subsizes, starts, element, made) }
        })
    }

    fn indexed(&self, blocks: &[Extent]) -> Made<c_int> {
        let pieces = blocks.iter().flat_map(|block| {
            (0..block.length_bytes.div_ceil(PIECE_BYTES)).map(|i| {
                let from = i * PIECE_BYTES;
                let len = (block.length_bytes - from).min(PIECE_BYTES) as c_int;
                (len, (block.offset_bytes + from) as i64)
            })
        });
        let (lens, starts): (Vec<c_int>, Vec<i64>) = pieces.unzip();
        let count = int(lens.len() as u64)?;
        self.made("MPI_Type_create_hindexed", |made| {
            // SAFETY: two arrays of `count` numbers and a valid pointer.
            unsafe { (self.shim.type_indexed)(count, lens.as_ptr(), starts.as_ptr(), BYTE, made) }
        })
    }

    /// Types at positions; frees them.
    fn structure(&self, parts: &[(u64, c_int)]) -> Made<c_int> {
        let lens = vec![1; parts.len()];
        let starts: Vec<i64> = parts.iter().map(|part| part.0 as i64).collect();
        let types: Vec<c_int> = parts.iter().map(|part| part.1).collect();
        let made = int(parts.len() as u64).and_then(|count| {
            self.made("MPI_Type_create_struct", |made| {
                let (lens, starts, types) = (lens.as_ptr(), starts.as_ptr(), types.as_ptr());
                // SAFETY: three arrays of `count` numbers and a valid pointer.
                unsafe { (self.shim.type_struct)(count, lens, starts, types, made) }
            })
        });
        types.into_iter().for_each(|of| self.free(of));
        made
    }

    fn made(&self, call: &'static str, make: impl FnOnce(&mut c_int) -> c_int) -> Made<c_int> {
        let mut made = -1;
        match make(&mut made) {
            0 => Ok(made),
            code => Err((call, code)),
        }
    }

    /// Forgets a type.
    pub(crate) fn free(&self, of: c_int) {
        // SAFETY: a handle the shim gave, freed once.
        unsafe { (self.shim.type_free)(of) };
    }
}

fn int(n: u64) -> Made<c_int> {
    c_int::try_from(n).map_err(|_| ("a datatype with a count above 2^31 - 1", -1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_the_shim_s_bits() {
        for (letters, bits) in [("r", 1), ("w", 2), ("rw", 4), ("crw", 12), ("cxw", 26), ("wa", 34)]
        {
            let mode = MpiMode::parse(letters.as_bytes()).expect("a mode");
            assert_eq!(mode_bits(mode), bits, "{letters}");
        }
    }

    #[test]
    fn fingerprints_tell_opens_apart() {
        let all = [fingerprint(b"a", 1), fingerprint(b"b", 1), fingerprint(b"a", 2)];
        assert!(all[0] != all[1] && all[0] != all[2] && all.iter().all(|print| *print >= 0));
    }

    #[test]
    fn classes_have_errnos() {
        assert_eq!(errno_of("MPI_ERR_NO_SUCH_FILE"), libc::ENOENT);
        assert_eq!(errno_of("MPI_ERR_NO_SPACE"), libc::ENOSPC);
        assert_eq!(errno_of("MPI_ERR_OTHER"), libc::EIO);
        assert_eq!(errno_of(""), libc::EIO);
    }

    #[test]
    fn texts_of_several_lines_become_one() {
        assert_eq!(
            one_line(b"File does not exist, error stack:\n  (25)\0rest"),
            "File does not exist, error stack: (25)"
        );
    }
}
