//! The public interface.

#[cfg(test)]
mod workspace;
