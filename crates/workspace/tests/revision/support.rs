//! One helper that touches the API: what is the revision now, and what has changed.

use workspace::{FileChange, Observed, Standing, Tracker, Workspace};

use crate::fixture::Tree;

/// A workspace that is tracked.
pub(crate) struct Tracked {
    pub(crate) tree: Tree,
    pub(crate) tracker: Tracker,
}

impl Tracked {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let tree = Tree::new();
        for (path, content) in files {
            tree.file(path, content);
        }
        let tracker = Tracker::new(&tree.workspace, None);
        Self { tree, tracker }
    }

    /// What is observed now, by events.
    pub(crate) fn now(&self) -> Observed {
        let observed = self.tracker.observe(&|| false).unwrap();
        assert_eq!(observed.standing(), Standing::Live);
        observed
    }

    /// The change since `earlier` as lines of `+`, `-` or `~` and a path; also checks that the revision is the one
    /// that somebody gets who looks for the first time.
    pub(crate) fn since(&self, earlier: &Observed) -> Vec<String> {
        let now = self.now();
        assert_eq!(now.revision(), afresh(&self.tree.workspace), "a fresh look differs");
        let (changed, more) = now.changed_since(earlier, usize::MAX);
        assert_eq!(more, 0);
        assert_eq!(changed.is_empty(), now.revision() == earlier.revision());
        let line = |file: &workspace::ChangedFile| {
            let sign = match file.change {
                FileChange::Added => '+',
                FileChange::Modified => '~',
                FileChange::Removed => '-',
            };
            format!("{sign}{}", file.path)
        };
        changed.iter().map(line).collect()
    }
}

/// The revision that somebody sees who knows nothing.
pub(crate) fn afresh(workspace: &Workspace) -> workspace::Revision {
    Tracker::new(workspace, None).observe(&|| false).unwrap().revision()
}
