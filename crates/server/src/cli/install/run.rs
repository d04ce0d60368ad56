//! The subcommand itself. It plans the changes of all files before it writes the first, writes them, and
//! reports.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::apply::{self, Configuration, Reverted};
use super::broken::at;
use super::change::{self, ChangeRefused, DesiredEntry, files_of, place_of};
use super::clients::{CLIENTS, Client, ClientSource, Instead, Item, STATE_VARIABLES, Starts};
use super::entry::{Words, start_of};
use super::error::InstallError;
use super::harmless;
use super::machine::{Machine, System};
use super::remote_entry::{self, Target};
use super::remote_install;
use super::scopes::{self, Scope};
use super::syntax::Syntax;
use crate::cli::terminal::clipped;
use crate::config::{StateOptions, ToolSet};
use crate::render::escape::{on_lines, on_one_line};
use crate::render::privacy;

/// The longest line that is shown about an entry under another name, in characters.
const LONGEST: usize = 2_000;

/// The most times that a change is planned anew. Each time another program has written, so each of many
/// `install` at once comes to its end.
const ROUNDS: usize = 256;

/// The request of a person.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option that a person types")]
pub struct InstallRequest {
    /// The client; `None` lists those that are there.
    pub client: Option<&'static Client>,
    /// The directories that the server may read and edit; absolute.
    pub directories: Vec<PathBuf>,
    /// The project whose configuration is changed; absolute. `None`: the person's own is.
    pub project: Option<PathBuf>,
    /// True to show the changes and write nothing.
    pub is_dry_run: bool,
    /// True to take the entry out.
    pub is_removal: bool,
    /// True to replace another program's entry of our name.
    pub is_forced: bool,
    /// True to switch the client's own tools that change files off.
    pub is_instead: bool,
    /// The command that starts the server; `None`: this program's path.
    pub command: Option<Vec<String>>,
    /// The tools; `None`: those that suit the client.
    pub tools: Option<ToolSet>,
    /// The other options of the server, each with its values.
    pub options: Vec<(String, Vec<String>)>,
    /// The running server to which the client is to be led. `None`: it starts a program.
    pub target: Option<Target>,
}

/// A file that is to be changed.
struct Planned {
    file: PathBuf,
    found: Option<Configuration>,
    text: String,
    /// The description of the change, for people.
    what: String,
}

impl Planned {
    fn changes(&self) -> bool {
        self.found.as_ref().map_or(!self.text.is_empty(), |found| found.text != self.text)
    }
}

/// Carries out a person's request. Begins again where another program, such as another `install`, has changed
/// a configuration since it was read.
pub fn install(
    request: &InstallRequest,
    machine: &Machine,
    state: &StateOptions,
    out: &mut impl Write,
) -> Result<(), InstallError> {
    let Some(client) = request.client else { return list(machine, state, out) };
    for _ in 1..ROUNDS {
        match attempt(request, client, machine, state, out) {
            Err(InstallError::Changed(_)) => {}
            done => return done,
        }
    }
    attempt(request, client, machine, state, out)
}

/// Makes one attempt to change the configurations as they are now.
fn attempt(
    request: &InstallRequest,
    client: &'static Client,
    machine: &Machine,
    state: &StateOptions,
    out: &mut impl Write,
) -> Result<(), InstallError> {
    let files = files_of(client, machine, request.project.as_deref()).map_err(InstallError::Failed)?;
    if let Some(refused) =
        request.target.as_ref().and_then(|target| remote_install::refused(client, &files, target))
    {
        return Err(refused);
    }
    if let (Instead::ByHand(step), true, false) = (client.instead, request.is_instead, request.is_removal) {
        let program = client.program;
        let why = format!(
            "nothing is written: {program}'s own editing tools cannot be switched off by install; {step}"
        );
        return Err(InstallError::Failed(why));
    }
    let mut items = (client.approval)(machine, request.project.as_deref());
    if request.project.is_none() {
        let off = client.switched_off(machine, &files);
        // A person may have switched some of them off: `install` does it with all.
        if request.is_instead || request.is_removal && off.iter().all(|item| is_set(item, state)) {
            items.extend(off);
        }
    }
    if request.is_removal || request.target.as_ref().is_some_and(|target| target.token_env.is_some()) {
        items.extend(remote_entry::items(client, &files));
    }
    for file in files.iter().chain(items.iter().map(|item| &item.file)) {
        let stays = request.project.as_ref().map_or(Ok(()), |project| harmless::inside(project, file));
        stays.map_err(InstallError::Failed)?;
    }
    if request.is_removal {
        return remove(request, client, machine, &files, &items, state, out);
    }
    let all = request.is_instead.then(|| "all".to_owned());
    let tools = request.tools.as_ref().map(short_name).or(all);
    let wanted = DesiredEntry {
        client,
        machine,
        start: request.command.clone().unwrap_or_else(|| start(machine, request.project.is_some())),
        tools: tools.as_deref(),
        options: &request.options,
        directories: request.directories.iter().map(|path| in_words(path)).collect::<Result<_, _>>()?,
        variables: variables(client, machine, request.project.is_some()),
        project: request.project.as_deref(),
        is_forced: request.is_forced,
    };
    let mut words = Words::default();
    let mut other_entries = Vec::new();
    let mut planned = Vec::new();
    for file in &files {
        let added = || match &request.target {
            Some(target) => remote_install::by_hand(client, target),
            None => change::by_hand(&wanted),
        };
        let found = apply::read(file, state).map_err(|why| by_hand(why, Some(added())))?;
        let text = found.as_ref().map_or("", |found| &found.text);
        let refused = |refused| refusal(file, &refused, Some(added()));
        let (text, what) = if let Some(target) = &request.target {
            (remote_install::change(text, &wanted, target).map_err(refused)?, target.url.clone())
        } else {
            let (text, now) = change::install(text, &wanted).map_err(refused)?;
            words = now;
            (text, words.all().join(" "))
        };
        let said = client.syntax.read(&text).unwrap_or_default();
        other_entries.extend(
            change::other_entries(&said, client.servers, machine).into_iter().map(|other| (other, file)),
        );
        let what = format!("{}: {}", place_of(client), on_one_line(&what));
        planned.push(Planned { file: file.clone(), found, text, what });
    }
    for item in &items {
        plan_item(&mut planned, item, state, false)?;
    }
    // The trace is looked for before anything is written: a written file is a trace.
    let trace = client.trace(machine, &files);
    let wrote = carry_out(request, client, &planned, state, out)?;
    if !wrote {
        writeln!(out, "{}: nothing to change", client.program)?;
    }
    if trace.is_none() && request.project.is_none() {
        let program = client.program;
        writeln!(out, "  not found on this machine: neither {program} nor a configuration of it")?;
    }
    for (other, file) in &other_entries {
        let told = format!("{}; {}", other.what(true), other.mend(file));
        writeln!(out, "  besides: {}", on_one_line(&clipped(&told, LONGEST)))?;
    }
    explain(request, client, &words, out)?;
    warn_of_the_desktop(request, client, machine, &files, out)?;
    for scope in outranking(request, client, machine, state) {
        let used_in = request.project.as_deref().unwrap_or(&machine.here);
        writeln!(out, "  besides: {}", on_one_line(&scopes::said_of(client, &scope, used_in)))?;
    }
    Ok(())
}

/// Says where the system keeps the server from the directories, or the client from what was written.
fn warn_of_the_desktop(
    request: &InstallRequest,
    client: &Client,
    machine: &Machine,
    files: &[PathBuf],
    out: &mut impl Write,
) -> Result<(), InstallError> {
    let directories = request.directories.iter();
    for directory in directories.filter(|_| machine.system == System::Mac && client.name == "claude-desktop")
    {
        if let Some(folder) = privacy::of_folder(&machine.home, directory) {
            let allow = privacy::allow(folder);
            writeln!(out, "  besides: macOS keeps programs from {}. {allow}", shown(directory))?;
        }
    }
    for file in files {
        if let Some(package) = machine.redirects(file) {
            writeln!(
                out,
                "  besides: this program runs inside the package {}, so Windows shows {} to that package alone. Run install again in a \
                 terminal that was started from the Start menu",
                on_one_line(package),
                shown(file)
            )?;
        }
    }
    Ok(())
}

/// Returns the places with an entry that the client uses instead of the written one.
fn outranking(
    request: &InstallRequest,
    client: &Client,
    machine: &Machine,
    state: &StateOptions,
) -> Vec<Scope> {
    scopes::outranking(client, machine, request.project.as_deref(), &|file, syntax| {
        syntax.read(&apply::configuration(file, state).ok().flatten()?).ok()
    })
}

/// Returns the variables that say where the person keeps the history, and that the client does not pass to
/// servers. None for a project, whose entry other people use, too.
fn variables(client: &Client, machine: &Machine, is_project: bool) -> Vec<(String, String)> {
    let passes_by_name = client.members(&Words::default()).iter().any(|(name, _)| name == "env_vars");
    let lacks = |name: &&&str| !is_project && !passes_by_name && !client.passes.gives(name);
    let value = |name: &&str| Some(((*name).to_owned(), machine.variable(name)?.to_str()?.to_owned()));
    STATE_VARIABLES.iter().filter(lacks).filter_map(value).collect()
}

fn in_words(directory: &Path) -> Result<String, InstallError> {
    let text = directory.to_str().map(str::to_owned);
    text.ok_or_else(|| {
        InstallError::Failed(format!("{} is not Unicode, as a configuration is", directory.display()))
    })
}

/// Returns the words that start this program. In a project, whose entry other people use, too, this is the
/// bare name if `PATH` leads to the program by it.
fn start(machine: &Machine, is_project: bool) -> Vec<String> {
    let path = machine.variable("PATH");
    match machine.program.file_name().and_then(|name| name.to_str()) {
        Some(name) if is_project && machine.find_program(name, path).as_ref() == Some(&machine.program) => {
            vec![name.strip_suffix(".exe").unwrap_or(name).to_owned()]
        }
        _ => start_of(&machine.program),
    }
}

/// Adds the change of a list to the plan for its file: the item is added or removed.
fn plan_item(
    planned: &mut Vec<Planned>,
    item: &Item,
    state: &StateOptions,
    is_removal: bool,
) -> Result<(), InstallError> {
    let change = if is_removal { change::without } else { change::with };
    let added = || change::with("", item).ok().filter(|_| !is_removal);
    let refused = |broken| refusal(&item.file, &ChangeRefused::Broken(broken), added());
    let what = format!("{}: {}: {}", item.path.join("."), item.item, item.effect);
    if let Some(same) = planned.iter_mut().find(|planned| planned.file == item.file) {
        same.text = change(&same.text, item).map_err(refused)?;
        same.what = format!("{}\n  {what}", same.what);
        return Ok(());
    }
    let found = apply::read(&item.file, state).map_err(|why| by_hand(why, added()))?;
    let text = change(found.as_ref().map_or("", |found| &found.text), item).map_err(refused)?;
    planned.push(Planned { file: item.file.clone(), found, text, what });
    Ok(())
}

/// Writes the planned changes, and reports them. Returns whether there were any.
fn carry_out(
    request: &InstallRequest,
    client: &Client,
    planned: &[Planned],
    state: &StateOptions,
    out: &mut impl Write,
) -> Result<bool, InstallError> {
    let mut wrote = false;
    for Planned { file, found, text, what } in planned.iter().filter(|planned| planned.changes()) {
        let origin = if request.is_removal { apply::REMOVAL } else { apply::ORIGIN };
        let done = apply::write(file, found.as_ref(), text, state, origin, request.is_dry_run)?;
        let path = shown(file);
        if request.is_dry_run {
            writeln!(out, "{}: would write {path}\n{}", client.program, on_lines(done.diff.trim_end()))?;
        } else {
            writeln!(out, "{}: wrote {path}\n  {what}", client.program)?;
            if let Some(id) = done.edit_id {
                writeln!(out, "  mcp-text-editor undo {id} takes it back")?;
            }
        }
        wrote = true;
    }
    Ok(wrote)
}

/// Takes the entry out. The edits that made it are undone if nothing else has changed since, so that the file
/// is as it was before. Else only the entry is removed.
fn remove(
    request: &InstallRequest,
    client: &'static Client,
    machine: &Machine,
    files: &[PathBuf],
    items: &[Item],
    state: &StateOptions,
    out: &mut impl Write,
) -> Result<(), InstallError> {
    // What a file held before the first edit of it stays, even if it looks like our own.
    let plan = |taken_back: &[PathBuf], restored: &[PathBuf]| -> Result<Vec<Planned>, InstallError> {
        let mut planned = Vec::new();
        for file in files {
            let found = apply::read(file, state).map_err(InstallError::Failed)?;
            let text = found.as_ref().map_or_else(String::new, |found| found.text.clone());
            let text = match change::remove(&text, client, machine, request.is_forced) {
                // This entry was there before ours.
                Err(ChangeRefused::Foreign(_)) if taken_back.contains(file) => text,
                text => text.map_err(|refused| refusal(file, &refused, None))?,
            };
            planned.push(Planned {
                file: file.clone(),
                found,
                text,
                what: format!("{} is taken out", place_of(client)),
            });
        }
        for item in items {
            plan_item(&mut planned, item, state, true)?;
            if let Some(last) = planned
                .iter_mut()
                .find(|planned| planned.file == item.file && planned.what.contains(item.effect))
            {
                last.what = format!("{} in {} is taken out", item.item, item.path.join("."));
            }
        }
        planned.retain(|planned| !restored.contains(&planned.file));
        Ok(planned)
    };
    let (mut taken_back, mut restored, mut kept) = (Vec::new(), Vec::new(), Vec::new());
    if !request.is_dry_run {
        // A file may need several undos, so the rest is planned anew after each.
        while let Some(file) = plan(&taken_back, &restored)?
            .into_iter()
            .find_map(|planned| (planned.changes() && !kept.contains(&planned.file)).then_some(planned.file))
        {
            match apply::take_back(&file, state).map_err(InstallError::Failed)? {
                Reverted::Done => {
                    writeln!(out, "{}: {} is as it was before", client.program, shown(&file))?;
                    taken_back.push(file);
                }
                Reverted::NothingLeft if taken_back.contains(&file) => restored.push(file),
                Reverted::NothingLeft | Reverted::Refused => kept.push(file),
            }
        }
    }
    let wrote = carry_out(request, client, &plan(&taken_back, &restored)?, state, out)?;
    if !wrote && taken_back.is_empty() {
        writeln!(out, "{}: there is no entry {} to take out", client.program, place_of(client))?;
    }
    for scope in outranking(request, client, machine, state) {
        writeln!(out, "  besides: {}", on_one_line(&scopes::still_there(client, &scope)))?;
    }
    Ok(())
}

/// Says why a file is left as it is, and what a person can do; `added` is the text that was to be added.
fn refusal(file: &Path, refused: &ChangeRefused, added: Option<String>) -> InstallError {
    match refused {
        ChangeRefused::NoDirectory { .. } => InstallError::Failed(refused.to_string()),
        ChangeRefused::Broken(_) => by_hand(format!("{} is left as it is: {refused}", file.display()), added),
        _ => InstallError::Failed(format!("{} is left as it is: {refused}", file.display())),
    }
}

fn by_hand(why: String, added: Option<String>) -> InstallError {
    match added {
        None => InstallError::Failed(why),
        Some(added) => InstallError::ByHand {
            why,
            added: format!("By hand, this is to be added:\n{}\n", added.trim_end()),
        },
    }
}

/// Says what the entry means, and what else a person has to do.
fn explain(
    request: &InstallRequest,
    client: &Client,
    words: &Words,
    out: &mut impl Write,
) -> Result<(), InstallError> {
    let step = if request.project.is_some() { client.project_step } else { client.user_step };
    let steps = client.asks.into_iter().chain(step);
    if request.is_instead {
        writeln!(
            out,
            "  edits in the place of {}'s own tools; lost with them: its checkpoints, its dialogs that show a change before it is \
             made, its marks in an editor; --remove puts them back",
            client.program
        )?;
    }
    if let Some(target) = &request.target {
        remote_install::explain(client, target, steps, out)?;
        return hints(request, client, out);
    }
    let tools = words.tools.as_deref().unwrap_or("default");
    let offers = match tools {
        "claude-code" => format!(
            "the patch tool alone, beside what {} edits with itself; --tools default offers those that read, edit, search and list",
            client.program
        ),
        "all" => "every tool".to_owned(),
        "default" => "the tools that read, edit, search and list".to_owned(),
        names => names.to_owned(),
    };
    writeln!(out, "  offers {}", on_one_line(&offers))?;
    let serves = match (words.directories.as_slice(), client.starts) {
        ([], Starts::Anywhere) => {
            "the directory in which it is started; see `mcp-text-editor doctor`".to_owned()
        }
        ([], _) => format!("the directory in which {} is started", client.program),
        ([one], Starts::Names(variable)) if one == variable => "the project that is open".to_owned(),
        (named, _) => named.join(", "),
    };
    writeln!(out, "  serves {}", on_one_line(&serves))?;
    for step in steps {
        writeln!(out, "  besides: {step}")?;
    }
    let is_of_this_machine = words.start.first().is_some_and(|program| Path::new(program).is_absolute());
    if request.project.is_some() && is_of_this_machine {
        writeln!(
            out,
            "  names the program by its path on this machine; --command mcp-text-editor, or \"npx -y mcp-text-editor-rs\", suits everybody"
        )?;
    }
    hints(request, client, out)
}

/// Says where the facts about the client come from, and how to check that the entry works.
fn hints(request: &InstallRequest, client: &Client, out: &mut impl Write) -> Result<(), InstallError> {
    if let ClientSource::Documentation(page) = client.known {
        writeln!(out, "  not tried with the program itself; from {page}")?;
    }
    if !request.is_dry_run {
        writeln!(out, "  mcp-text-editor doctor {} looks whether it works", client.name)?;
    }
    Ok(())
}

/// Lists the clients, and which of them are on this machine.
fn list(machine: &Machine, state: &StateOptions, out: &mut impl Write) -> Result<(), InstallError> {
    for client in CLIENTS {
        let files = files_of(client, machine, None).map_err(InstallError::Failed)?;
        let there = match files.iter().find(|file| has_entry(file, client, machine, state)) {
            Some(file) => format!("has the server, in {}", shown(file)),
            None => match client.trace(machine, &files) {
                Some(trace) => format!("found: {}", shown(&trace)),
                None => "not found".to_owned(),
            },
        };
        writeln!(out, "{:<15} {:<15} {there}", client.name, client.program)?;
    }
    writeln!(
        out,
        "mcp-text-editor install CLIENT [DIR…] writes the entry; --project DIR that of a project; --print shows it first"
    )?;
    Ok(())
}

fn shown(path: &Path) -> String {
    on_one_line(&path.to_string_lossy())
}

fn has_entry(file: &Path, client: &Client, machine: &Machine, state: &StateOptions) -> bool {
    let text = apply::configuration(file, state).ok().flatten();
    let said = text.and_then(|text| Syntax::read(client.syntax, &text).ok());
    let words = said.as_ref().and_then(|said| at(said, &client.entry())).and_then(Client::words);
    words.is_some_and(|words| Words::of(&words, machine).is_some())
}

fn is_set(item: &Item, state: &StateOptions) -> bool {
    let text = apply::configuration(&item.file, state).ok().flatten();
    let said = text.and_then(|text| Syntax::Json.read(&text).ok());
    said.is_some_and(|said| change::is_there(&said, item))
}

/// Returns the shortest name of a set of tools that `--tools` takes.
fn short_name(tools: &ToolSet) -> String {
    let found = ToolSet::NAMES.iter().find(|name| name.parse::<ToolSet>().as_ref() == Ok(tools));
    found.map_or_else(|| tools.to_string(), |name| (*name).to_owned())
}
