//! The studio against attacks: each tries what it names, over HTTP as it goes over the wire, against the real binary.

#[path = "cli/scene.rs"]
#[allow(dead_code)] // The command line's tests use the rest.
mod scene;

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, setrlimit};
use scene::{PARABENCH, Scene};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A server that answers nothing for so long hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// A studio with a folder `work`, beside which lies a secret, and a browser that has its cookie.
struct Studio {
    server: Child,
    printed: BufReader<std::process::ChildStdout>,
    port: u16,
    token: String,
    cookie: String,
    scene: Scene,
}

/// An answer: its status and everything as text.
struct Answer(u16, String);

impl Studio {
    fn open(scene: Scene) -> Studio {
        let scene = scene.file("work/a.ppl", "write(\"f\", 4k);\n").file("secret.ppl", "SECRET");
        fs::create_dir_all(scene.path("granted")).expect("made");
        let mut server = Command::new(PARABENCH)
            .args(["studio", "work", "--no-open", "--dir", "granted"])
            .current_dir(scene.path("."))
            .stdout(Stdio::piped())
            .spawn()
            .expect("the studio starts");
        let mut printed = BufReader::new(server.stdout.take().expect("piped"));
        let (port, token) = address(&mut printed);
        let cookie = String::new();
        let mut studio = Studio { server, printed, port, token, cookie, scene };
        let answer = studio.ask("GET", &format!("/?token={}", studio.token), "", b"");
        let cookie = answer.1.lines().find_map(|line| line.strip_prefix("set-cookie: "));
        let cookie = cookie.unwrap_or_else(|| panic!("no cookie: {}", answer.1));
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
        studio.cookie = cookie.split(';').next().unwrap_or_default().into();
        studio
    }

    /// An address of the server, with the cookie: `headers` are lines.
    fn ask(&self, method: &str, path: &str, headers: &str, body: &[u8]) -> Answer {
        let host = format!("Host: 127.0.0.1:{}\r\n", self.port);
        let cookie = format!("Cookie: {}\r\n", self.cookie);
        self.raw(method, path, &format!("{host}{cookie}{headers}"), body)
    }

    /// The same as a page of the studio asks.
    fn own(&self, method: &str, path: &str, body: &str) -> Answer {
        let origin = format!(
            "Origin: http://127.0.0.1:{}\r\nSec-Fetch-Site: same-origin\r\nContent-Type: application/json\r\n",
            self.port
        );
        self.ask(method, path, &origin, body.as_bytes())
    }

    fn raw(&self, method: &str, path: &str, headers: &str, body: &[u8]) -> Answer {
        let mut stream = self.connect();
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body)).expect("sent");
        answer(stream)
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("connected");
        stream.set_read_timeout(Some(PATIENCE)).expect("set");
        stream
    }
}

impl Drop for Studio {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// Port and token of the next address that is printed.
fn address(printed: &mut impl BufRead) -> (u16, String) {
    let mut line = String::new();
    printed.read_line(&mut line).expect("a line");
    let (_, address) = line.split_once("http://127.0.0.1:").expect("an address on loopback");
    let (port, token) = address.trim().split_once("/?token=").expect("a token");
    (port.parse().expect("a port"), token.into())
}

fn answer(mut stream: TcpStream) -> Answer {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok());
    Answer(status.unwrap_or(0), text)
}

#[test]
fn without_token_nothing_is_answered() {
    let mut studio = Studio::open(Scene::new());
    let host = format!("Host: 127.0.0.1:{}\r\n", studio.port);
    let used = format!("/?token={}", studio.token);
    for path in
        ["/", "/studio.js", "/api/folder", "/api/file?name=a.ppl", "/?token=", "/?token=0", &used]
    {
        let Answer(status, text) = studio.raw("GET", path, &host, b"");
        assert_eq!(status, 401, "{path}: {text}");
    }
    let guessed = format!("{host}Cookie: parabench-{}={}\r\n", studio.port, "0".repeat(32));
    assert_eq!(studio.raw("GET", "/", &guessed, b"").0, 401);
    assert_eq!(studio.ask("GET", "/", "", b"").0, 200);
    // Another browser has an address of its own.
    let (port, token) = address(&mut studio.printed);
    assert_eq!(port, studio.port);
    assert_ne!(token, studio.token);
    assert_eq!(studio.raw("GET", &format!("/?token={token}"), &host, b"").0, 303);
}

#[test]
fn pages_of_other_sites_are_refused() {
    let studio = Studio::open(Scene::new());
    let run = br#"{"program":"a.ppl","ranks":1}"#;
    let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                   Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    for origin in ["http://evil.example", "null", "http://127.0.0.1:1", "http://127.0.0.1"] {
        let origin = format!("Origin: {origin}\r\nContent-Type: application/json\r\n");
        assert_eq!(studio.ask("POST", "/api/runs", &origin, run).0, 403, "{origin}");
        assert_eq!(studio.ask("GET", "/api/folder", &origin, b"").0, 403, "{origin}");
        assert_eq!(
            studio.ask("GET", "/lsp", &format!("{origin}{upgrade}"), b"").0,
            403,
            "{origin}"
        );
    }
    // A form of another site may send no Origin in old browsers; a link of another site sends none.
    assert_eq!(studio.ask("POST", "/api/runs", "Content-Type: application/json\r\n", run).0, 403);
    assert_eq!(studio.ask("GET", "/lsp", upgrade, b"").0, 403);
    let cross = "Sec-Fetch-Site: cross-site\r\n";
    assert_eq!(studio.ask("GET", "/page?name=runs/a-1", cross, b"").0, 403);
    assert_eq!(studio.own("GET", "/api/folder", "").0, 200);
    assert!(!studio.scene.path("work/runs").exists());
}

#[test]
fn names_that_are_bound_to_loopback_later_are_refused() {
    let studio = Studio::open(Scene::new());
    let cookie = format!("Cookie: {}\r\n", studio.cookie);
    for host in ["evil.example", "127.0.0.1", "127.0.0.1.evil.example", "[::1]", "0.0.0.0"] {
        for port in [String::new(), format!(":{}", studio.port)] {
            if format!("{host}{port}") == format!("127.0.0.1:{}", studio.port) {
                continue;
            }
            let headers = format!("Host: {host}{port}\r\n{cookie}");
            assert_eq!(studio.raw("GET", "/api/folder", &headers, b"").0, 421, "{headers}");
        }
    }
}

#[test]
fn names_do_not_lead_out_of_the_folder() {
    let studio = Studio::open(Scene::new());
    let secret = studio.scene.path("secret.ppl").display().to_string();
    let names = [
        "../secret.ppl",
        "%2e%2e/secret.ppl",
        "..%2fsecret.ppl",
        "x/../../secret.ppl",
        "./../secret.ppl",
        "%2e%2e%5csecret.ppl",
        "../secret.ppl%00.ppl",
        &secret,
        "",
        ".",
        "/etc/passwd",
        "//etc/passwd",
    ];
    for name in names {
        for path in ["/api/file", "/page", "/api/figures"] {
            let Answer(status, text) = studio.own("GET", &format!("{path}?name={name}"), "");
            assert!(!text.contains("SECRET") && !text.contains("root:"), "{path} {name}: {text}");
            assert!(
                status == 403 || path == "/page" || status == 404,
                "{path} {name}: {status} {text}"
            );
        }
    }
    for name in ["../new.ppl", "x/../../new.ppl", ".hidden.ppl", "a.sh", "runs/run.json", ""] {
        let body = serde_json::json!({"name": name, "text": "x", "replaces": ""}).to_string();
        let Answer(status, text) = studio.own("PUT", "/api/file", &body);
        assert_eq!(status, 403, "{name}: {text}");
    }
    assert_eq!(studio.scene.names("."), ["granted", "secret.ppl", "work"]);
    assert_eq!(studio.scene.names("work"), ["a.ppl"]);
}

#[test]
fn links_do_not_lead_out_of_the_folder() {
    let scene = Scene::new().file("outside/run.json", "SECRET").file("outside/x.ppl", "SECRET");
    let studio = Studio::open(scene);
    let link = |target: &str, name: &str| {
        std::os::unix::fs::symlink(target, studio.scene.path(name)).expect("a link");
    };
    link("../secret.ppl", "work/link.ppl");
    link("../outside", "work/down");
    link("a.ppl", "work/inner.ppl");
    for name in ["link.ppl", "down/x.ppl"] {
        let Answer(status, text) = studio.own("GET", &format!("/api/file?name={name}"), "");
        assert!(status == 403 && text.contains("leads out of the folder"), "{name}: {text}");
        let body = serde_json::json!({"name": name, "text": "x", "replaces": ""}).to_string();
        assert_eq!(studio.own("PUT", "/api/file", &body).0, 403);
        let run = serde_json::json!({"program": name, "ranks": 1}).to_string();
        assert_eq!(studio.own("POST", "/api/runs", &run).0, 403);
    }
    assert!(studio.own("GET", "/page?name=down", "").1.contains("leads out of the folder"));
    assert_eq!(studio.own("GET", "/api/file?name=inner.ppl", "").0, 200);
    // Results and imports would go through it.
    link("../outside", "work/runs");
    let run = serde_json::json!({"program": "a.ppl", "ranks": 1}).to_string();
    let Answer(status, text) = studio.own("POST", "/api/runs", &run);
    assert!(status == 403 && text.contains("leads out of the folder"), "{text}");
    assert_eq!(studio.scene.names("outside"), ["run.json", "x.ppl"]);
    assert_eq!(studio.scene.text("secret.ppl"), "SECRET");
}

#[test]
fn an_upload_of_a_gigabyte_is_refused() {
    let studio = Studio::open(Scene::new());
    let head = |length: &str| {
        format!(
            "POST /api/import?name=big.strace HTTP/1.1\r\nHost: 127.0.0.1:{0}\r\nOrigin: http://127.0.0.1:{0}\r\n\
             Cookie: {1}\r\n{length}\r\nConnection: close\r\n\r\n",
            studio.port, studio.cookie
        )
    };
    // Its length says so.
    let mut stream = studio.connect();
    stream.write_all(head("Content-Length: 1073741824").as_bytes()).expect("sent");
    assert_eq!(answer(stream).0, 413);
    // It shows only on the way.
    let mut stream = studio.connect();
    stream.write_all(head("Transfer-Encoding: chunked").as_bytes()).expect("sent");
    let chunk = [b"100000\r\n".as_slice(), &[b'x'; 1 << 20], b"\r\n"].concat();
    let sent = (0..1024).take_while(|_| stream.write_all(&chunk).is_ok()).count();
    assert!(sent < 1024, "all of it was taken");
    let Answer(status, text) = answer(stream);
    assert!(status == 413 || text.is_empty(), "{text}");
    // A program is far shorter.
    let body = format!(r#"{{"name":"big.ppl","replaces":"","text":"{}"}}"#, "x".repeat(5 << 20));
    assert_ne!(studio.own("PUT", "/api/file", &body).0, 200);
    assert_eq!(studio.own("GET", "/api/folder", "").0, 200);
    assert_eq!(studio.scene.names("work"), ["a.ppl"]);
}

#[test]
fn ten_thousand_open_sockets_keep_nobody_out() {
    const SOCKETS: usize = 10_000;
    let limit = getrlimit(Resource::Nofile);
    let wanted = Some(SOCKETS as u64 + 500);
    if limit.maximum.is_some_and(|most| Some(most) < wanted) {
        scene::skip("this process may not open 10,000 sockets");
        return;
    }
    setrlimit(Resource::Nofile, Rlimit { current: wanted, maximum: limit.maximum })
        .expect("raised");
    let studio = Studio::open(Scene::new());
    let mut open = Vec::new();
    for number in 0..SOCKETS {
        let mut stream = studio.connect();
        // Every other one begins a request and never ends it.
        if number % 2 == 0 {
            let _ = stream.write_all(b"GET / HTTP/1.1\r\n");
        }
        open.push(stream);
    }
    assert_eq!(studio.own("GET", "/api/folder", "").0, 200);
    let descriptors = fs::read_dir(format!("/proc/{}/fd", studio.server.id())).expect("its files");
    let descriptors = descriptors.count();
    assert!(descriptors < 400, "{descriptors} descriptors");
    assert_eq!(open.len(), SOCKETS);
}

#[test]
fn labels_and_names_are_text() {
    let program = "time[\"</script><script>parent.document.title=1</script>\"] write(\"f\", 4k);\n";
    let studio = Studio::open(Scene::new().file("work/label.ppl", program));
    studio
        .scene
        .call("run label.ppl --out runs/label --events")
        .inside(studio.scene.path("work"))
        .run()
        .exits(0);
    let Answer(status, page) = studio.own("GET", "/page?name=runs/label", "");
    assert_eq!(status, 200);
    assert!(page.contains("content-security-policy: sandbox allow-scripts"), "{page}");
    assert!(!page.contains("allow-same-origin") && !page.contains("<script>parent"), "{page}");
    // The application holds nothing of the folder but what its script asks for.
    let Answer(_, start) = studio.own("GET", "/", "");
    let policy = start.lines().find_map(|line| line.strip_prefix("content-security-policy: "));
    let policy = policy.expect("a policy");
    assert!(policy.contains("default-src 'none'; script-src 'self';"), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
    let Answer(_, refused) = studio.own("GET", "/page?name=<script>alert(1)</script>", "");
    assert!(!refused.contains("<script>"), "{refused}");
}

#[test]
fn what_the_browser_says_is_no_option_and_no_command() {
    let studio = Studio::open(Scene::new().file("work/--help.ppl", "write(\"f\", 1);"));
    let start = |more: serde_json::Value| {
        let mut run = serde_json::json!({"program": "a.ppl", "ranks": 1});
        run.as_object_mut()
            .expect("an object")
            .extend(more.as_object().expect("an object").clone());
        studio.own("POST", "/api/runs", &run.to_string())
    };
    for more in [
        serde_json::json!({"directory": 1}),
        serde_json::json!({"parameters": {"--dir": "/tmp"}}),
        serde_json::json!({"sweep": {"a b": "1,2"}}),
        serde_json::json!({"trace": "../secret.ppl"}),
        serde_json::json!({"dir": "/tmp"}),
    ] {
        let Answer(status, text) = start(more.clone());
        assert!(status == 422 || status == 403, "{more}: {status} {text}");
    }
    assert_eq!(studio.scene.names("work"), ["--help.ppl", "a.ppl"]);
    let Answer(status, text) =
        start(serde_json::json!({"program": "--help.ppl", "time_limit": "$(touch x)"}));
    assert!(
        status == 200 && text.contains("./--help.ppl") && text.contains("=$(touch x)"),
        "{text}"
    );
    assert!(!studio.scene.path("work/x").exists());
}

/// Programs that are executed for See beside each other take no signals away from the server.
#[test]
fn a_signal_ends_the_studio_whatever_it_has_shown() {
    let mut studio = Studio::open(Scene::new());
    let program = serde_json::json!({
        "name": "a.ppl", "text": "repeat $i 200 write(\"f-$i\", 4k);", "ranks": 64,
    });
    let program = program.to_string();
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert_eq!(studio.own("POST", "/api/see", &program).0, 200));
        }
    });
    kill_process(Pid::from_child(&studio.server), Signal::TERM).expect("sent");
    let end = Instant::now() + PATIENCE;
    while studio.server.try_wait().expect("asked").is_none() {
        assert!(Instant::now() < end, "it goes on");
        thread::sleep(Duration::from_millis(20));
    }
}
