//! The memory of one rank's record: grows, never moves while a file backs it.
//!
//! A file is mapped once at the largest size it may get and then grown below the
//! mapping with fallocate, so that full memory is an answer and never SIGBUS.

use super::layout::*;
use crate::memory::Mapping;
use bytemuck::Pod;
use rustix::fs::{FallocateFlags, MemfdFlags, fallocate, memfd_create};
use rustix::mm::{Advice, madvise};
use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::mem::offset_of;
use std::num::NonZeroU32;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// Words that events leave to statistics when memory is full.
const RESERVE_WORDS: usize = (512 << 10) / 8;
/// Part of the reserve that only messages about the end of a rank may take.
const LAST_WORDS: usize = (16 << 10) / 8;
/// A file grows by an eighth, within these bounds (words): a rank between two operations waits for it.
const STEP_WORDS: std::ops::RangeInclusive<usize> = (64 << 10) / 8..=(16 << 20) / 8;
/// Address space for everything but events.
const STATISTICS_BYTES: u64 = 4 << 30;
const PAGE_WORDS: usize = 4096 / 8;
const HEAP_START_WORDS: usize = 128;

/// Where a rank's area lies.
#[derive(Debug)]
pub enum Medium {
    /// A file in memory (tmpfs) that outlives the rank; it must not be there yet.
    File(PathBuf),
    /// Memory behind a descriptor ([`memory_file`]) that the parent made before it forked.
    Memory(OwnedFd),
    /// Private memory of this process: simulated ranks and tests.
    Heap,
}

/// An empty file in memory for [`Medium::Memory`]: made before the fork, read after the
/// rank has ended.
pub fn memory_file() -> io::Result<File> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    Ok(memfd_create("parabench-rank", flags)?.into())
}

/// The place of a `T` in an area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct At<T> {
    word: NonZeroU32,
    of: PhantomData<T>,
}

impl<T> At<T> {
    fn new(word: usize) -> Option<At<T>> {
        let word = NonZeroU32::new(u32::try_from(word).ok()?)?;
        Some(At { word, of: PhantomData })
    }

    /// Word number: earlier blocks appeared earlier.
    #[inline(always)]
    pub(crate) fn word(self) -> usize {
        self.word.get() as usize
    }

    /// The place of something else this number of bytes behind the start.
    pub(crate) fn behind<U>(self, bytes: usize) -> At<U> {
        At { word: self.word.saturating_add((bytes / 8) as u32), of: PhantomData }
    }

    /// The `i`-th of several in a row that begin here.
    #[inline(always)]
    pub(crate) fn nth(self, i: u64) -> At<T> {
        self.behind(i as usize * size_of::<T>())
    }
}

/// Words in a file mapping or on the heap.
#[derive(Debug)]
pub(crate) struct Area {
    base: NonNull<u64>,
    capacity: usize,
    used: usize,
    backing: Backing,
}

#[derive(Debug)]
enum Backing {
    Heap(Vec<u64>),
    Mapped { file: File, mapping: Mapping },
}

impl Area {
    /// An area with an empty header. `events_bytes`: what the events may take at most.
    pub(crate) fn create(medium: Medium, events_bytes: u64) -> io::Result<Area> {
        let mut area = match medium {
            Medium::Heap => Area::on_heap(),
            Medium::Memory(fd) => Area::mapped(File::from(fd), events_bytes)?,
            Medium::File(path) => {
                let mut options = File::options();
                options.read(true).write(true).create_new(true);
                Area::mapped(options.open(path)?, events_bytes)?
            }
        };
        area.grow(HEADER_WORDS + area.reserve())?;
        area.publish(offset_of!(Header, used) / 8, HEADER_WORDS as u64);
        Ok(area)
    }

    fn on_heap() -> Area {
        let (base, backing) = (NonNull::dangling(), Backing::Heap(Vec::new()));
        Area { base, capacity: 0, used: HEADER_WORDS, backing }
    }

    /// Maps more than the file has; takes less when the address space is limited.
    fn mapped(file: File, events_bytes: u64) -> io::Result<Area> {
        let mut bytes = STATISTICS_BYTES.saturating_add(events_bytes).min(32 << 30) as usize;
        let mapping = loop {
            match Mapping::of_file(&file, bytes, true) {
                Err(_) if bytes > 64 << 20 => bytes /= 2,
                mapped => break mapped?,
            }
        };
        let (base, backing) = (mapping.base().cast(), Backing::Mapped { file, mapping });
        Ok(Area { base, capacity: 0, used: HEADER_WORDS, backing })
    }

    fn reserve(&self) -> usize {
        if self.is_heap() { 0 } else { RESERVE_WORDS }
    }

    /// All words that exist.
    #[inline(always)]
    pub(crate) fn words(&mut self) -> &mut [u64] {
        // SAFETY: `base` points at `capacity` words that live as long as the area and
        // that nothing else in this process refers to.
        unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr(), self.capacity) }
    }

    /// All words that exist, to look at.
    #[inline(always)]
    pub(crate) fn read(&self) -> &[u64] {
        // SAFETY: as for `words`.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.capacity) }
    }

    #[inline(always)]
    pub(crate) fn header(&mut self) -> &mut Header {
        self.struct_at(0)
    }

    /// The struct at a place.
    #[inline(always)]
    pub(crate) fn get<T: Pod>(&mut self, at: At<T>) -> &mut T {
        self.struct_at(at.word())
    }

    #[inline(always)]
    fn struct_at<T: Pod>(&mut self, word: usize) -> &mut T {
        let words = &mut self.words()[word..word + words_of::<T>()];
        &mut bytemuck::cast_slice_mut(words)[0]
    }

    /// Sets a word after everything that was written before it.
    #[inline(always)]
    pub(crate) fn publish(&mut self, word: usize, value: u64) {
        let word = &mut self.words()[word];
        // SAFETY: the word is valid and aligned, and borrowed for this call alone.
        unsafe { AtomicU64::from_ptr(word) }.store(value, Ordering::Release);
    }

    /// Appends a block, and gives its place. `None` when there is no room even in the reserve.
    pub(crate) fn append<T: Pod>(&mut self, kind: Kind, own: &T) -> Option<At<T>> {
        self.append_with(kind, own, 0, |_| ())
    }

    /// Appends a block that ends with a text.
    pub(crate) fn append_text<T: Pod>(
        &mut self,
        kind: Kind,
        own: &T,
        text: &[u8],
    ) -> Option<At<T>> {
        self.append_with(kind, own, words_for(text.len()), |tail| put_text(tail, text))
    }

    pub(crate) fn append_message(&mut self, message: &Message) {
        let Ok(bytes) = postcard::to_stdvec(message) else { return };
        let kept = if message.is_about_the_end() { 0 } else { LAST_WORDS };
        let tail = |tail: &mut [u64]| put_text(tail, &bytes);
        self.append_block(
            Kind::Message,
            &(bytes.len() as u64),
            (words_for(bytes.len()), kept),
            tail,
        );
    }

    /// Appends a block whose tail `fill` completes.
    pub(crate) fn append_with<T: Pod>(
        &mut self,
        kind: Kind,
        own: &T,
        tail_words: usize,
        fill: impl FnOnce(&mut [u64]),
    ) -> Option<At<T>> {
        self.append_block(kind, own, (tail_words, LAST_WORDS), fill)
    }

    /// `kept_words`: words of the reserve that the block may not take.
    fn append_block<T: Pod>(
        &mut self,
        kind: Kind,
        own: &T,
        (tail_words, kept_words): (usize, usize),
        fill: impl FnOnce(&mut [u64]),
    ) -> Option<At<T>> {
        let payload_words = words_of::<T>() + tail_words;
        self.make_room(1 + payload_words);
        let kept_words = kept_words.min(self.reserve());
        let at = At::new(self.used + 1)?;
        if self.used + 1 + payload_words + kept_words > self.capacity {
            self.header().lost += 1;
            return None;
        }
        let end = self.used + 1 + payload_words;
        let from = self.used;
        let block = &mut self.words()[from..end];
        block[0] = block_head(kind, payload_words);
        *bytemuck::cast_slice_mut(&mut block[1..1 + words_of::<T>()]).first_mut()? = *own;
        fill(&mut block[1 + words_of::<T>()..]);
        self.used = end;
        self.publish(offset_of!(Header, used) / 8, end as u64);
        let sequence = self.header().sequence + 1;
        self.publish(offset_of!(Header, sequence) / 8, sequence);
        Some(at)
    }

    /// There is room for this number of words beside the reserve.
    #[inline]
    pub(crate) fn has_room(&self, words: usize) -> bool {
        self.used + words + self.reserve() <= self.capacity
    }

    /// Makes room for this number of words beside the reserve; false if that fails.
    pub(crate) fn make_room(&mut self, words: usize) -> bool {
        let wanted = self.used + words + self.reserve();
        // Places are 32-bit word numbers.
        self.has_room(words) || (wanted <= u32::MAX as usize && self.grow(wanted).is_ok())
    }

    /// It is private memory: nothing outlives the process.
    pub(crate) fn is_heap(&self) -> bool {
        matches!(self.backing, Backing::Heap(_))
    }

    /// Words in use.
    pub(crate) fn used(&self) -> usize {
        self.used
    }

    #[cold]
    fn grow(&mut self, wanted: usize) -> io::Result<()> {
        let (file, reserved) = match &mut self.backing {
            Backing::Mapped { file, mapping } => (file, mapping.bytes() / 8),
            Backing::Heap(words) => {
                let target = wanted.max(2 * self.capacity).max(HEAP_START_WORDS);
                words.try_reserve_exact(target - words.len()).map_err(io::Error::other)?;
                words.resize(target, 0);
                (self.base, self.capacity) =
                    (NonNull::from(words.as_mut_slice()).cast(), words.len());
                return Ok(());
            }
        };
        let step = (self.capacity / 8).clamp(*STEP_WORDS.start(), *STEP_WORDS.end());
        let round = |words: usize| words.next_multiple_of(PAGE_WORDS).min(reserved);
        if wanted > reserved {
            return Err(io::Error::from_raw_os_error(libc::EFBIG));
        }
        let mut words = round(wanted.max(self.capacity + step));
        if extend(file, self.capacity, words).is_err() {
            words = round(wanted);
            extend(file, self.capacity, words)?;
        }
        populate(self.base, self.capacity, words);
        self.capacity = words;
        Ok(())
    }

    /// The words in use of a heap area.
    pub(crate) fn take_words(&mut self) -> Option<Vec<u64>> {
        let Backing::Heap(words) = &mut self.backing else { return None };
        let mut words = std::mem::take(words);
        self.capacity = 0;
        words.truncate(self.used);
        Some(words)
    }
}

/// Allocates the file's words `from..to`: a tmpfs or a limit that is full answers here, and no page
/// that is touched later can be missing.
fn extend(file: &File, from: usize, to: usize) -> io::Result<()> {
    Ok(fallocate(file, FallocateFlags::empty(), from as u64 * 8, (to - from) as u64 * 8)?)
}

/// Takes the page faults now, not between two operations. Only an optimisation:
/// kernels before 5.14 refuse.
fn populate(base: NonNull<u64>, from: usize, to: usize) {
    let from = from / PAGE_WORDS * PAGE_WORDS;
    // SAFETY: `from..to` lies inside the mapping and is backed by the file.
    let _ = unsafe {
        let start = base.as_ptr().add(from).cast();
        madvise(start, (to - from) * 8, Advice::LinuxPopulateWrite)
    };
}

/// The words of an area that is read; they stay in place.
#[derive(Debug)]
pub(crate) enum Source {
    Memory(Vec<u64>),
    Mapped(Mapping),
}

impl Default for Source {
    fn default() -> Source {
        Source::Memory(Vec::new())
    }
}

impl Source {
    /// Copies bytes; a last incomplete word is left out.
    pub(crate) fn copy(bytes: &[u8]) -> Source {
        let word = |chunk: &[u8]| u64::from_ne_bytes(chunk.try_into().expect("chunks of 8"));
        Source::Memory(bytes.chunks_exact(8).map(word).collect())
    }

    /// Maps a file, so that a large event table needs no memory of its own.
    pub(crate) fn map(file: &File) -> io::Result<Source> {
        let bytes = file.metadata()?.len() as usize / 8 * 8;
        match bytes {
            0 => Ok(Source::Memory(Vec::new())),
            _ => Mapping::of_file(file, bytes, false).map(Source::Mapped),
        }
    }

    pub(crate) fn words(&self) -> &[u64] {
        match self {
            Source::Memory(words) => words,
            // SAFETY: the words live as long as the mapping; the rank that wrote the file has ended,
            // nobody changes or shortens it.
            Source::Mapped(mapping) => unsafe {
                std::slice::from_raw_parts(mapping.base().as_ptr().cast(), mapping.bytes() / 8)
            },
        }
    }
}
