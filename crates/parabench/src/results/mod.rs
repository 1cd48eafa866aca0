//! Results of runs in folders. Read top to bottom:
//!
//! | file | holds |
//! |---|---|
//! | `recording` | where ranks record while they run: in memory |
//! | `owner` | which run that memory belongs to |
//! | `tables` | what they recorded as rows and events of a run |
//! | `leftover` | what killed processes leave |
//! | `sweep` | executions of a sweep |
//! | `stored` | a stored run, also one that was killed |
//! | `folder` | the folder of `--out` while a run fills it |
//! | `resume` | a sweep of which executions are missing |
//! | `import` | runs from logs, and from runs of our own |

mod folder;
mod import;
mod leftover;
mod owner;
mod recording;
mod resume;
mod stored;
mod sweep;
mod tables;

pub use folder::{EventSource, Folder, Needs, real_path};
pub use import::{MOSTLY, Origin, import_own, is_own, store_import, title};
pub use leftover::{Fate, Left, left, remove_executions};
pub use owner::OWNER;
pub use recording::remove_if_empty;
pub use resume::{Begun, Earlier, PLACES, Unfinished, advice as resume_advice, as_typed};
pub use stored::{Stored, read, read_ended};
pub use tables::fill;
