//! The Codex CLI: installed at the pinned version, and started on a scene with a model that follows the script.
//!
//! Must never use a Codex that a person has set up, nor its home, its settings or its account.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;

use super::enclosure::{Network, enclosed, finish};
use super::scene::{Scene, rustup_home};
use super::{FOLDER, Fault, created};

/// Beside the packages of the tests' clients, which are installed anew as a whole.
const INSTALLED: &str = "target/clients/agents";
const INSTALL_SECONDS: u64 = 900;

/// The longest that the agent may take, and that all may take together, in seconds.
const AGENT_SECONDS: u64 = 240;
const SCENE_SECONDS: u64 = AGENT_SECONDS + 30;

/// Free in a network namespace that is empty.
const PORT: u16 = 8931;

const PROMPT: &str = "A test of this crate fails. Find out why, mend it, and run the tests.";

/// An installed Codex.
pub(super) struct Codex {
    program: PathBuf,
    pub(super) version: String,
}

/// Installs Codex if it is missing or another version.
///
/// # Errors
/// When npm cannot install it.
pub(super) fn installed(root: &Path) -> Result<Codex, Fault> {
    let (source, folder) = (root.join(FOLDER), root.join(INSTALLED));
    let wanted = source.join("package-lock.json");
    let stamp = folder.join("package-lock.json.installed");
    let same = fs::read(&wanted).ok().is_some_and(|text| fs::read(&stamp).ok() == Some(text));
    if !same {
        fs::create_dir_all(&folder).map_err(Fault::at(folder.display()))?;
        for name in ["package.json", "package-lock.json"] {
            fs::copy(source.join(name), folder.join(name)).map_err(Fault::at(name))?;
        }
        let mut npm = enclosed(Network::Shared, "npm");
        npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]);
        npm.current_dir(&folder).stdin(Stdio::null()).stdout(Stdio::null());
        if finish(&mut npm, INSTALL_SECONDS)? != Some(0) {
            return Err(Fault::new("npm ci", "failed; npm says why above"));
        }
        fs::copy(&wanted, &stamp).map_err(Fault::at(stamp.display()))?;
    }
    let packages = folder.join("node_modules");
    let manifest = packages.join("@openai/codex/package.json");
    let text = fs::read(&manifest).map_err(Fault::at(manifest.display()))?;
    let manifest: Value = serde_json::from_slice(&text).map_err(Fault::at(manifest.display()))?;
    let version = manifest.get("version").and_then(Value::as_str).unwrap_or_default().to_owned();
    Ok(Codex { program: packages.join(".bin/codex"), version })
}

impl Codex {
    /// Does the task; the agent's exit code, or none when it had to be ended.
    ///
    /// # Errors
    /// When the scene cannot be written to.
    pub(super) fn play(
        &self,
        root: &Path,
        scene: &Scene,
        server: &Path,
    ) -> Result<Option<i32>, Fault> {
        let folder = root.join(FOLDER);
        let (home, codex_home) = (scene.path("home"), scene.path("home/codex"));
        let temporary = scene.path("tmp");
        for made in [&codex_home, &temporary] {
            fs::create_dir_all(made).map_err(Fault::at(made.display()))?;
        }
        let template = folder.join("codex_config.toml");
        let template = fs::read_to_string(&template).map_err(Fault::at(template.display()))?;
        let config = configuration(&template, scene, server);
        fs::write(codex_home.join("config.toml"), config).map_err(Fault::at("config.toml"))?;

        let mut agent = enclosed(Network::None, "python3");
        agent.arg(folder.join("scripted_model.py")).arg(folder.join("script.json")).arg(&scene.log);
        agent.args([AGENT_SECONDS.to_string(), PORT.to_string()]);
        agent.arg(&self.program).args(["exec", "--json", "--skip-git-repo-check", "--cd"]);
        agent.arg(&scene.workspace).arg(PROMPT);
        agent.env_clear().env("HOME", home).env("CODEX_HOME", codex_home).env("TMPDIR", temporary);
        agent.env("RUSTUP_HOME", rustup_home());
        for name in ["PATH", "LANG", "RUSTUP_TOOLCHAIN"] {
            agent.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        agent.current_dir(&scene.workspace).stdin(Stdio::null());
        agent
            .stdout(created(&scene.path("agent.jsonl"))?)
            .stderr(created(&scene.path("agent.txt"))?);
        finish(&mut agent, SCENE_SECONDS)
    }
}

/// The configuration with its places filled in.
fn configuration(template: &str, scene: &Scene, server: &Path) -> String {
    let url = format!("http://127.0.0.1:{PORT}/v1");
    let home = std::env::var("HOME").unwrap_or_default();
    let text = |path: &Path| path.display().to_string();
    let places = [
        ("{URL}", url),
        ("{CHANCERY}", text(server)),
        ("{WORKSPACE}", text(&scene.workspace)),
        ("{STATE}", text(&scene.state)),
        ("{HOME}", home),
    ];
    // A JSON string is a TOML string.
    let fill = |filled: String, (place, value): (&str, String)| {
        filled.replace(place, &Value::from(value).to_string())
    };
    places.into_iter().fold(template.to_owned(), fill)
}
