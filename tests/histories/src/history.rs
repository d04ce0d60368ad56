//! A history as it was recorded, and which of its calls may be seen half done.
#![expect(clippy::indexing_slicing, reason = "a key that a JSON value lacks is null, and no panic")]

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::model::{Claim, Content, Deed, Effect, Entry, File, Guard, Operation, Path};

/// Operations on files that no other history has.
#[derive(Debug)]
pub(crate) struct History {
    pub(crate) name: String,
    pub(crate) operations: Vec<Recorded>,
}

/// An operation with the moments between which it took effect, in nanoseconds of a clock that all clients
/// share.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    pub(crate) called: i64,
    /// The last moment there is, if nobody answered.
    pub(crate) answered: i64,
    pub(crate) operation: Operation,
    /// The line that was recorded.
    pub(crate) text: String,
    is_outsider: bool,
}

impl Recorded {
    fn new(called: i64, answered: i64, deed: Deed, text: String, is_outsider: bool) -> Self {
        let operation = Operation { deed: Arc::new(deed), beside: Arc::new([]), is_of_an_instant: false };
        Self { called, answered, operation, text, is_outsider }
    }

    /// Returns the operation that ends a part of a history, where nobody has looked at the files.
    pub(crate) fn pause(at: i64) -> Self {
        Self::new(at, i64::MAX, Deed::Pause, String::new(), false)
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.called <= other.answered && other.called <= self.answered
    }

    fn touches(&self, path: Path) -> bool {
        let is_named = |entry: &Entry| entry.path == path || entry.to == Some(path);
        self.operation.deed.entries().iter().any(is_named)
    }

    /// Tells whether it puts this file in the place of whatever is there.
    fn sets(&self, path: Path, file: &File) -> bool {
        let is_it = |entry: &Entry| entry.path == path && entry.after(&None).as_ref() == Some(file);
        self.operation.deed.entries().iter().any(is_it)
    }

    fn paths(&self) -> Vec<Path> {
        match &*self.operation.deed {
            Deed::Read(path, _) => vec![*path],
            deed => deed.entries().iter().flat_map(|entry| [Some(entry.path), entry.to]).flatten().collect(),
        }
    }
}

impl History {
    /// Reads a history from a line of JSON.
    pub(crate) fn parse(line: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let name = value["name"].as_str().unwrap_or_default().to_owned();
        let reader = Reader::new(&value["paths"])?;
        let operations = value["operations"].as_array().ok_or("no operations")?;
        let recorded = operations.iter().map(|operation| reader.recorded(operation));
        let mut recorded: Vec<Recorded> =
            recorded.collect::<Result<_, _>>().map_err(|error| format!("{name}: {error}"))?;
        settle_beside(&mut recorded);
        Ok(Self { name, operations: recorded })
    }
}

/// Finds for each read and refusal the calls of which it may see a part, or what is taken back: those that
/// change several files, those that another program may have met while they lasted, and removals whose server
/// was killed.
fn settle_beside(recorded: &mut [Recorded]) {
    let is_met = |call: &Recorded| {
        let meets = |other: &Recorded| {
            other.is_outsider && call.overlaps(other) && call.paths().iter().any(|path| other.touches(*path))
        };
        recorded.iter().any(meets)
    };
    let ours = recorded.iter().filter(|call| !call.is_outsider).map(|call| (call, is_met(call)));
    // The file gets its name back, unless the removal had been carried out.
    let is_cut_off = |call: &Recorded| match &*call.operation.deed {
        Deed::Unknown { entries } => entries.iter().any(|entry| entry.effect == Effect::Remove),
        _ => false,
    };
    let is_unsteady = |call: &Recorded| call.operation.deed.entries().len() > 1 || is_cut_off(call);
    let unsteady: Vec<(&Recorded, bool)> =
        ours.filter(|(call, is_met)| *is_met || is_unsteady(call)).collect();
    let known: Vec<File> =
        recorded.iter().flat_map(|operation| contents(&operation.operation.deed)).collect();
    let settled = |operation: &Recorded| {
        let mut settled = operation.operation.clone();
        if !matches!(*settled.deed, Deed::Read(..) | Deed::Refused { .. } | Deed::Done { is_dry: true, .. }) {
            return settled;
        }
        let is_seen = |call: &Recorded| {
            call.overlaps(operation) && operation.paths().iter().any(|path| call.touches(*path))
        };
        let seen = || unsteady.iter().filter(|(call, _)| is_seen(call));
        settled.beside = seen().map(|(call, _)| call.operation.deed.clone()).collect();
        let mut met = seen().filter(|(_, is_met)| *is_met).map(|(call, _)| *call);
        settled.is_of_an_instant = match &*operation.operation.deed {
            Deed::Read(path, found) => met.any(|call| {
                let mut entries = call.operation.deed.entries().iter();
                let is_made =
                    |entry: &Entry| known.iter().any(|file| entry.after(file).as_ref() == Some(found));
                let is_put_back = |entry: &Entry| found.is_some() && entry.guard.holds(found);
                let is_newer = || {
                    recorded
                        .iter()
                        .any(|other| other.is_outsider && call.overlaps(other) && other.sets(*path, found))
                };
                entries.any(|entry| {
                    entry.path == *path
                        && entry.effect != Effect::Keep
                        && (is_made(entry) || is_put_back(entry))
                }) || is_newer()
            }),
            _ => met.next().is_some(),
        };
        settled
    };
    let all: Vec<Operation> = recorded.iter().map(settled).collect();
    for (recorded, operation) in recorded.iter_mut().zip(all) {
        recorded.operation = operation;
    }
}

/// Returns what some file is known to have held.
fn contents(deed: &Deed) -> Vec<File> {
    let set = |entry: &Entry| match &entry.effect {
        Effect::Set(content) => Some(Some(content.clone())),
        _ => None,
    };
    match deed {
        Deed::Begin(files) | Deed::End(files) => files.clone(),
        Deed::Read(_, found) => vec![found.clone()],
        deed => deed.entries().iter().filter_map(set).collect(),
    }
}

/// Reads what the recorder wrote.
struct Reader {
    paths: BTreeMap<String, Path>,
}

impl Reader {
    fn new(paths: &Value) -> Result<Self, String> {
        let paths = paths.as_array().ok_or("no paths")?;
        let names = paths.iter().map(|path| path.as_str().map(str::to_owned).ok_or("a path is no text"));
        Ok(Self {
            paths: names.zip(0..).map(|(name, index)| Ok((name?, index))).collect::<Result<_, &str>>()?,
        })
    }

    fn path(&self, value: &Value) -> Result<Path, String> {
        let name = value.as_str().unwrap_or_default();
        self.paths.get(name).copied().ok_or_else(|| format!("no path of this history: {value}"))
    }

    fn recorded(&self, value: &Value) -> Result<Recorded, String> {
        let deed = match value["kind"].as_str().unwrap_or_default() {
            "begin" => Deed::Begin(self.files(&value["files"])?),
            "end" => Deed::End(self.files(&value["files"])?),
            "read" => Deed::Read(self.path(&value["path"])?, file(&value["found"])?),
            "call" => {
                let entries = list(&value["entries"], |entry| self.entry(entry))?;
                match value["outcome"].as_str().unwrap_or_default() {
                    "ok" => Deed::Done {
                        entries,
                        told: self.told(&value["told"])?,
                        is_dry: value["dry"].as_bool() == Some(true),
                    },
                    "refused" => {
                        Deed::Refused { entries, claims: list(&value["claims"], |claim| self.claim(claim))? }
                    }
                    "conflict" => Deed::InTheWay { entries },
                    "unknown" => Deed::Unknown { entries },
                    other => return Err(format!("no outcome: {other}")),
                }
            }
            other => return Err(format!("no kind of operation: {other}")),
        };
        let called = value["called"].as_i64().ok_or("no moment")?;
        let answered = value["answered"].as_i64().unwrap_or(i64::MAX);
        let is_outsider = value["by"] == "outsider";
        Ok(Recorded::new(called, answered, deed, value.to_string(), is_outsider))
    }

    fn files(&self, value: &Value) -> Result<Vec<File>, String> {
        let mut files = vec![None; self.paths.len()];
        for (name, path) in &self.paths {
            if let Some(place) = files.get_mut(*path) {
                *place = file(&value[name])?;
            }
        }
        Ok(files)
    }

    fn told(&self, value: &Value) -> Result<BTreeMap<Path, String>, String> {
        let told = value.as_object().into_iter().flatten();
        told.map(|(name, digest)| {
            Ok((self.path(&Value::from(name.as_str()))?, digest.as_str().unwrap_or_default().to_owned()))
        })
        .collect()
    }

    fn entry(&self, value: &Value) -> Result<Entry, String> {
        let guard = &value["guard"];
        let guard = match guard.as_str() {
            Some("nothing") => Guard::Nothing,
            Some("absent") => Guard::IsAbsent,
            Some("there") => Guard::IsThere,
            _ => match (guard["digest"].as_str(), guard["has"].as_u64()) {
                (Some(digest), _) => Guard::HasDigest(digest.to_owned()),
                (_, Some(tag)) => Guard::HasTag(tag),
                _ => return Err(format!("no guard: {guard}")),
            },
        };
        let effect = &value["effect"];
        let effect = match effect.as_str() {
            Some("keep") => Effect::Keep,
            Some("remove") => Effect::Remove,
            _ => match (&effect["set"], effect["swap"].as_u64(), effect["push"].as_u64()) {
                (set @ Value::Array(_), ..) => Effect::Set(Arc::new(Content::new(tags(set)?))),
                (_, Some(tag), _) => Effect::Swap(tag, tags(&effect["for"])?),
                (.., Some(tag)) => Effect::Push(tag),
                _ => return Err(format!("no effect: {effect}")),
            },
        };
        let to = if value["to"].is_null() { None } else { Some(self.path(&value["to"])?) };
        Ok(Entry { path: self.path(&value["path"])?, guard, effect, to })
    }

    fn claim(&self, value: &Value) -> Result<(Path, Claim), String> {
        let claim = match value["is"].as_str() {
            Some("absent") => Claim::IsAbsent,
            Some("there") => Claim::IsThere,
            Some(digest) if value["locked"].as_bool() == Some(true) => Claim::HeldDigest(digest.to_owned()),
            Some(digest) => Claim::HasDigest(digest.to_owned()),
            None => return Err(format!("no claim: {value}")),
        };
        Ok((self.path(&value["path"])?, claim))
    }
}

fn list<T>(value: &Value, each: impl FnMut(&Value) -> Result<T, String>) -> Result<Vec<T>, String> {
    value.as_array().ok_or_else(|| format!("no list: {value}"))?.iter().map(each).collect()
}

fn tags(value: &Value) -> Result<Vec<u64>, String> {
    list(value, |tag| tag.as_u64().ok_or_else(|| format!("no tag: {tag}")))
}

fn file(value: &Value) -> Result<File, String> {
    Ok(if value.is_null() { None } else { Some(Arc::new(Content::new(tags(value)?))) })
}
