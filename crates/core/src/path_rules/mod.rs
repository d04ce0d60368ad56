//! Matches paths against lists of globs: the rules of an ignore file, as git reads them, and the globs of a
//! request. Nothing is compiled: rules take the bytes that spell them and some more, and are matched byte by
//! byte.

mod braces;
mod problem;
mod rules;
#[cfg(test)]
mod tests;
mod wildmatch;

pub use problem::BadNamePattern;
pub use rules::{BadGlobs, MOST_GLOB_BYTES, MOST_GLOBS, MOST_WRITTEN, Notation, PathRules};
