//! Lists, searches, shows, compares and takes back past edits, for a person. Roots do not restrict a person.
//!
//! Each answer for a page is the JSON that `view/src/story.ts` reads. An error is a
//! [`Problem`](crate::problem::Problem), worded for a person.

mod find;
mod past;
pub mod series;
mod take_back;

pub use self::find::{EditQuery, list};
pub(crate) use self::past::of_entry;
pub use self::past::{BoxedProblem, Past, newest, page, show};
pub use self::past::{difference, lines, states};
pub use self::take_back::{TakeBack, TakenBack, Which, take_back};
