//! The context of every call ([`Context`], [`Cancel`]) and its [`Reply`].

mod call;
mod shown;
mod withdrawal;

pub(crate) use self::call::SHOWN;
pub use self::call::{Cancel, Context, Reply};
pub use self::shown::ShownFiles;
pub use self::withdrawal::Withdrawal;
