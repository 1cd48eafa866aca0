//! Debian's Chromium, driven over two pipes by the DevTools protocol
//! (<https://chromedevtools.github.io/devtools-protocol/>): JSON messages, each ended by a zero.

use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::spawn;
use std::time::Duration;

/// A browser that says nothing for so long hangs.
const PATIENCE: Duration = Duration::from_secs(180);

/// A browser with one tab.
pub struct Browser {
    child: Child,
    to: File,
    from: Receiver<Value>,
    session: String,
    last_id: u64,
    complaints: Vec<String>,
}

impl Browser {
    /// Starts it with a profile in `folder`, which is made; `None` without Chromium.
    pub fn start(folder: &Path) -> Option<Browser> {
        Command::new("chromium-headless-shell").arg("--version").output().ok()?;
        fs::create_dir_all(folder).expect("a folder");
        let (to, from) = (folder.join("to"), folder.join("from"));
        let made = Command::new("mkfifo").args([&to, &from]).status().expect("mkfifo runs");
        assert!(made.success());
        // The shell gives the browser its descriptors 3 and 4.
        let script = "exec chromium-headless-shell --no-sandbox --disable-gpu --disable-quic --no-first-run \
                      --disable-background-networking --disable-component-update --disable-sync \
                      --disable-dev-shm-usage --hide-scrollbars --user-data-dir=profile \
                      --remote-debugging-pipe 3<to 4>from";
        let mut command = Command::new("sh");
        command.args(["-c", script]).current_dir(folder);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().expect("sh runs");
        let to = File::create(to).expect("a pipe");
        let from = listen(File::open(from).expect("a pipe"));
        let (session, complaints) = (String::new(), Vec::new());
        let mut browser = Browser { child, to, from, session, last_id: 0, complaints };
        browser.new_tab();
        Some(browser)
    }

    fn new_tab(&mut self) {
        let target = self.call("Target.createTarget", json!({"url": "about:blank"}));
        let target = json!({"targetId": target["targetId"], "flatten": true});
        let attached = self.call("Target.attachToTarget", target);
        self.session = attached["sessionId"].as_str().expect("a session").to_string();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            self.call(&format!("{domain}.enable"), json!({}));
        }
    }

    /// Shows a page in a window of `width` pixels, light or dark, and waits until it is there.
    pub fn open(&mut self, address: &str, width: u32, scheme: &str) {
        let size = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", size);
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call("Emulation.setEmulatedMedia", json!({ "features": features }));
        self.call("Page.navigate", json!({ "url": address }));
        while self.next()["method"] != "Page.loadEventFired" {}
    }

    /// The value of an expression that is a text.
    pub fn evaluate(&mut self, expression: &str) -> String {
        let done = self.call("Runtime.evaluate", json!({ "expression": expression }));
        done["result"]["value"].as_str().unwrap_or_else(|| panic!("{done}")).to_string()
    }

    /// Bytes of the page as PDF, in the base64 in which they come.
    pub fn printed_bytes(&mut self) -> usize {
        let done = self.call("Page.printToPDF", json!({}));
        done["data"].as_str().map_or(0, str::len)
    }

    /// What the browser had to say: the console, exceptions, its log, requests for other files.
    pub fn complaints(&self) -> Vec<String> {
        self.complaints.clone()
    }

    fn call(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        let mut message = json!({"id": self.last_id, "method": method, "params": params});
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        self.to.write_all(format!("{message}\0").as_bytes()).expect("the browser listens");
        loop {
            let answer = self.next();
            if answer["id"] == self.last_id {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].clone();
            }
        }
    }

    fn next(&mut self) -> Value {
        let message = self.from.recv_timeout(PATIENCE).expect("the browser answers");
        let method = message["method"].as_str().unwrap_or_default();
        let complains = match method {
            "Log.entryAdded" | "Runtime.consoleAPICalled" | "Runtime.exceptionThrown" => true,
            "Network.requestWillBeSent" => message["params"]["type"] != "Document",
            _ => false,
        };
        if complains {
            self.complaints.push(message.to_string());
        }
        message
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.to.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        for _ in 0..500 {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Takes messages apart as they come.
fn listen(pipe: File) -> Receiver<Value> {
    let (sender, receiver) = channel();
    spawn(move || {
        for message in BufReader::new(pipe).split(0).map_while(Result::ok) {
            let Ok(message) = serde_json::from_slice(&message) else { return };
            if sender.send(message).is_err() {
                return;
            }
        }
    });
    receiver
}
