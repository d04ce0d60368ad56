//! Past edits as a person looks at them in a page: listed and searched, shown, compared, taken back. No roots
//! restrict a person.
//!
//! Each answer is the JSON that `view/src/story.ts` reads. What goes wrong is a
//! [`Problem`](crate::problem::Problem), in words for a person.

mod compare;
mod find;
mod makers;
mod open;
mod show;
mod take_back;

pub use self::compare::{difference, states};
pub use self::find::{EditQuery, list};
pub use self::open::{BoxedProblem, Past};
pub use self::show::{newest, page, show};
pub use self::take_back::{TakeBack, TakenBack, Which, take_back};
