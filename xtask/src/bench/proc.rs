//! What Linux says about a process and all that descend from it: CPU time and memory.
//!
//! Reads `/proc` only; a process that is gone by the time it is read counts as nothing. Must never
//! touch a process.

use std::collections::BTreeMap;
use std::fs;

/// Memory of a process tree.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Memory {
    /// Resident pages, shared ones counted in each process; megabytes of 10⁶ bytes.
    pub(super) rss_mb: f64,
    /// Resident pages, shared ones divided among those who share them.
    pub(super) pss_mb: f64,
}

/// The fields of `/proc/PID/stat` that are used here (`man 5 proc_pid_stat`).
#[derive(Debug, PartialEq)]
struct Stat {
    parent: u32,
    /// Of itself and of the children that it waited for.
    ticks: u64,
    /// Of the children that it waited for.
    children_ticks: u64,
}

/// CPU time of a process, its living descendants, and those that were waited for; milliseconds.
pub(super) fn cpu_ms(pid: u32) -> f64 {
    let processes = processes();
    let ticks = tree(pid, &processes).into_iter().filter_map(|pid| processes.get(&pid));
    milliseconds(ticks.map(|stat| stat.ticks).sum())
}

/// CPU time of the processes that this one started and waited for; milliseconds.
pub(super) fn children_cpu_ms() -> f64 {
    milliseconds(stat(std::process::id()).map_or(0, |stat| stat.children_ticks))
}

/// Memory of a process and its living descendants.
pub(super) fn memory(pid: u32) -> Memory {
    let tree = tree(pid, &processes());
    let pages = tree.iter().map(|pid| fs::read_to_string(format!("/proc/{pid}/smaps_rollup")));
    let mut sum = Memory::default();
    for text in pages.flatten() {
        let of_one = rollup(&text);
        sum.rss_mb += of_one.rss_mb;
        sum.pss_mb += of_one.pss_mb;
    }
    sum
}

fn tree(root: u32, processes: &BTreeMap<u32, Stat>) -> Vec<u32> {
    let (mut found, mut next) = (vec![root], 0);
    while let Some(parent) = found.get(next).copied() {
        let children = processes.iter().filter(|(_, stat)| stat.parent == parent);
        found.extend(children.map(|(pid, _)| *pid));
        next += 1;
    }
    found
}

fn processes() -> BTreeMap<u32, Stat> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid| Some((pid, stat(pid)?))).collect()
}

fn stat(pid: u32) -> Option<Stat> {
    parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// The name of a program stands in brackets and may hold anything, brackets too.
fn parse(text: &str) -> Option<Stat> {
    let (_, fields) = text.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    let children_ticks = number(13)? + number(14)?;
    let ticks = number(11)? + number(12)? + children_ticks;
    Some(Stat { parent: fields.get(1)?.parse().ok()?, ticks, children_ticks })
}

fn rollup(text: &str) -> Memory {
    let megabytes = |field: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(field));
        let kibibytes = line.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
        kibibytes.unwrap_or_default() * 1024.0 / 1e6
    };
    Memory { rss_mb: megabytes("Rss:"), pss_mb: megabytes("Pss:") }
}

fn milliseconds(ticks: u64) -> f64 {
    ticks as f64 * 1000.0 / rustix::param::clock_ticks_per_second() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_hides_no_field() {
        let text = "7 (a) (b) S 3 7 7 0 -1 4194304 1 2 3 4 10 20 300 400 20 0 1 0 5";
        let expected = Stat { parent: 3, ticks: 730, children_ticks: 700 };
        assert_eq!(parse(text), Some(expected));
    }

    #[test]
    fn a_tree_holds_descendants_and_nobody_else() {
        let rows = [(2, 1), (3, 2), (4, 3), (5, 1)];
        let stat = |parent| Stat { parent, ticks: 0, children_ticks: 0 };
        let processes = rows.into_iter().map(|(pid, parent)| (pid, stat(parent))).collect();
        assert_eq!(tree(2, &processes), [2, 3, 4]);
    }

    #[test]
    fn this_process_has_memory_and_its_children_used_cpu_time() {
        let found = memory(std::process::id());
        assert!(found.rss_mb > 0.0 && found.pss_mb <= found.rss_mb, "{found:?}");
        assert_eq!(rollup("Rss:  1000 kB\nPss:   500 kB\n").pss_mb, 0.512);
    }
}
