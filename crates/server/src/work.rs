//! From a typed request to what is said of it: the one place where the protocol meets the store.

use crate::context::{Cancel, Context, Reply};
use crate::problem::{Code, Failure, Problem};
use crate::tools::append::AppendRequest;
use crate::tools::create::CreateRequest;
use crate::tools::delete::DeleteRequest;
use crate::tools::get::ReadRequest;
use crate::tools::insert::InsertRequest;
use crate::tools::patch::PatchRequest;

/// Reads ranges of files.
pub fn get(_: &Context, _: ReadRequest, _: &Cancel) -> Result<Reply, Failure> {
    Err(unanswered(false))
}

/// Replaces text in files.
pub fn patch(_: &Context, _: PatchRequest, _: &Cancel) -> Result<Reply, Failure> {
    Err(unanswered(true))
}

/// Creates a file.
pub fn create(_: &Context, _: CreateRequest, _: &Cancel) -> Result<Reply, Failure> {
    Err(unanswered(true))
}

/// Adds lines to the end of a file.
pub fn append(_: &Context, _: AppendRequest, _: &Cancel) -> Result<Reply, Failure> {
    Err(unanswered(true))
}

/// Adds lines between two lines of a file.
pub fn insert(_: &Context, _: InsertRequest, _: &Cancel) -> Result<Reply, Failure> {
    Err(unanswered(true))
}

/// Deletes lines of a file.
pub fn delete(_: &Context, _: DeleteRequest, _: &Cancel) -> Result<Reply, Failure> {
    Err(unanswered(true))
}

fn unanswered(editing: bool) -> Failure {
    let problem = Problem::new(Code::InternalError, "no store is attached", "attach a store");
    Failure { problems: vec![problem], suggestion: String::new(), editing }
}
