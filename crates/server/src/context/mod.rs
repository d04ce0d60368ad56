//! What every call is given ([`Context`], [`Cancel`]) and what it returns ([`Reply`]).

mod call;
mod withdrawal;

pub use self::call::{Cancel, Context, Reply};
pub use self::withdrawal::Withdrawal;
