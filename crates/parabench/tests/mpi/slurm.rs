//! Submit scripts under a real Slurm: slurmctld, slurmd and munged of this machine, started for the
//! test in a folder of their own. Where they cannot be started, the test says so.

use crate::scene::{PARABENCH, Running, Scene, skip};
use crate::sweeps;
use crate::testing;
use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long the daemons may take to have a node ready.
const READY: Duration = Duration::from_secs(30);

/// A batch system of one node.
struct Slurm {
    /// Sockets have short names.
    folder: TempDir,
    daemons: Vec<Child>,
}

impl Slurm {
    /// `Err`: why there is none.
    fn start() -> Result<Slurm, String> {
        let folder = tempfile::Builder::new().prefix("slurm-").tempdir_in("/tmp");
        let mut slurm = Slurm { folder: folder.expect("a folder"), daemons: Vec::new() };
        slurm.configure();
        let at = slurm.folder.path().display().to_string();
        let munge = format!(
            "--foreground --force --key-file={at}/key --socket={at}/socket --pid-file={at}/pid \
             --log-file={at}/munge.log --seed-file={at}/seed"
        );
        slurm.daemon("munged", &munge)?;
        slurm.wait("munged makes a socket", |slurm| slurm.path("socket").exists())?;
        slurm.daemon("slurmctld", "-D -c")?;
        slurm.daemon("slurmd", "-D -c")?;
        slurm.wait("a node is idle", |slurm| {
            let states = slurm.command("sinfo").args(["-h", "-o", "%t"]).output();
            states.is_ok_and(|states| states.stdout.starts_with(b"idle"))
        })?;
        Ok(slurm)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn configure(&self) {
        let at = self.folder.path().display();
        let own = |program: &str, args: &[&str]| {
            let said = Command::new(program).args(args).output().expect("it runs");
            String::from_utf8_lossy(&said.stdout).trim().to_string()
        };
        let (host, user) = (own("uname", &["-n"]), own("id", &["-un"]));
        let host = host.split('.').next().unwrap_or_default();
        // Both are held until both are known.
        let ports = [0; 2].map(|_| TcpListener::bind("127.0.0.1:0").expect("a port"));
        let [control, node] = ports.map(|port| port.local_addr().expect("an address").port());
        let text = format!(
            "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmUser={user}\n\
             SlurmdUser={user}\nAuthType=auth/munge\nAuthInfo=socket={at}/socket\n\
             SlurmctldPort={control}\nSlurmdPort={node}\nStateSaveLocation={at}/state\n\
             SlurmdSpoolDir={at}/spool\nSlurmctldPidFile={at}/slurmctld.pid\n\
             SlurmdPidFile={at}/slurmd.pid\nProctrackType=proctrack/linuxproc\n\
             TaskPlugin=task/none\nSelectType=select/cons_tres\nReturnToService=2\nKillWait=5\n\
             JobAcctGatherType=jobacct_gather/none\nSlurmdParameters=config_overrides\n\
             AccountingStorageType=accounting_storage/none\n\
             NodeName={host} NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN\n\
             PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n"
        );
        fs::write(self.path("slurm.conf"), text).expect("written");
        for folder in ["state", "spool"] {
            fs::create_dir(self.path(folder)).expect("made");
        }
        let mut key = vec![0; 1024];
        let random = fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut key));
        random.expect("random bytes");
        fs::write(self.path("key"), key).expect("written");
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o400);
        fs::set_permissions(self.path("key"), private).expect("a private key");
    }

    fn daemon(&mut self, name: &str, line: &str) -> Result<(), String> {
        let log = fs::File::create(self.path(&format!("{name}.out"))).expect("a log");
        let mut command = self.command(name);
        command.args(line.split_whitespace()).stdin(Stdio::null());
        command.stdout(log.try_clone().expect("the log")).stderr(log);
        let daemon = command.spawn().map_err(|error| format!("{name} cannot be started: {error}"));
        self.daemons.push(daemon?);
        Ok(())
    }

    /// A command of Slurm; daemons lie where only root looks.
    fn command(&self, name: &str) -> Command {
        let sbin = Path::new("/usr/sbin").join(name);
        let mut command = Command::new(if sbin.is_file() { sbin } else { name.into() });
        command.env("SLURM_CONF", self.path("slurm.conf"));
        command
    }

    fn wait(&self, what: &str, is: impl Fn(&Slurm) -> bool) -> Result<(), String> {
        let since = Instant::now();
        while !is(self) {
            if since.elapsed() > READY {
                return Err(format!("it never happened that {what}"));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Submits a script, and waits for the job's end in the process that is given back.
    fn submit(&self, mpi: &testing::Mpi, scene: &Scene, script: &str) -> Running {
        let mut command = self.command("sbatch");
        let kind = if mpi.name == "openmpi" { "pmix" } else { "pmi2" };
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut path: Vec<PathBuf> = std::env::split_paths(&path).collect();
        path.splice(0..0, Path::new(PARABENCH).parent().map(Path::to_path_buf));
        command.env("PATH", std::env::join_paths(path).expect("a path list"));
        command.env("SLURM_MPI_TYPE", kind).args(["--wait", script]);
        scene.command(command).start()
    }

    /// Sends a signal to the ranks of all jobs, as Slurm does before a time limit.
    fn signal(&self, signal: &str) {
        let names = self.command("squeue").args(["-h", "-o", "%i"]).output().expect("squeue");
        for job in String::from_utf8_lossy(&names.stdout).split_whitespace() {
            let done = self.command("scancel").args(["-s", signal, job]).status();
            assert!(done.expect("scancel").success());
        }
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        for daemon in self.daemons.iter_mut().rev() {
            let _ = daemon.kill().and_then(|()| daemon.wait());
        }
    }
}

#[test]
fn a_job_that_is_signalled_before_its_limit_ends_in_order_and_goes_on_when_submitted_again() {
    let slurm = match Slurm::start() {
        Ok(slurm) => slurm,
        Err(why) => return skip(&format!("Slurm (slurmctld, slurmd, munged) is not here: {why}")),
    };
    let same = sweeps::without_mpi(&format!("{} --dir d -n 3", sweeps::GRID));
    for (mpi, signal) in testing::all().iter().zip(["USR1", "TERM"]) {
        let scene = sweeps::scene();
        let line = format!(
            "job x.ppl stop=5 --nodes 1 --ranks-per-node 3 --time 5m --resume --out r --dir d \
             --mpicc {} -o x.sh -- {}",
            mpi.mpicc.display(),
            sweeps::GRID
        );
        scene.parabench(&line).exits(0).err_has("sbatch x.sh");
        let first = slurm.submit(mpi, &scene, "x.sh");
        sweeps::until_the_fifth(&first, &scene, 3);
        slurm.signal(signal);
        first.finish().exits(130);
        let run = scene.parabench("report r --format json").exits(0).json();
        assert_eq!(run["run"]["outcome"], "interrupted", "under {}", mpi.name);
        let batch = run["run"]["job"]["batch"].as_str().expect("a text");
        assert!(batch.starts_with("slurm "), "{batch}");
        fs::write(scene.path("d/go"), "").expect("written");
        slurm.submit(mpi, &scene, "x.sh").finish().exits(0);
        assert_eq!(sweeps::stored(&scene), same, "under {}", mpi.name);
    }
}
