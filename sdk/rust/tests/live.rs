//! Every manager against a live server: `III_URL` is its address, `III_TOKEN` a token of an administrator.

use std::collections::BTreeMap;
use std::future::Future;
use std::time::Duration;

use futures_util::StreamExt;
use iii_sandbox::*;
use tokio::io::AsyncReadExt;

const PATIENCE: Duration = Duration::from_secs(30);

fn config() -> ClientConfig {
    ClientConfig {
        base_url: std::env::var("III_URL").expect("III_URL: the address of a live server"),
        token: std::env::var("III_TOKEN").ok(),
        ..Default::default()
    }
}

async fn sandbox() -> SandboxGuard {
    let options = SandboxCreateOptions { image: Some("python".into()), ..Default::default() };
    create_sandbox(options, Some(config())).await.unwrap().guard()
}

/// Asks again until the answer is there.
async fn eventually<T, F: Future<Output = Option<T>>>(mut ask: impl FnMut() -> F) -> T {
    tokio::time::timeout(PATIENCE, async {
        loop {
            if let Some(found) = ask().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await
    .expect("in time")
}

#[tokio::test]
async fn the_life_of_a_sandbox() {
    let mut sandbox = sandbox().await;
    assert_eq!(sandbox.status(), "running");
    assert!(list_sandboxes(Some(config())).await.unwrap().iter().any(|s| s.id == sandbox.id()));
    assert_eq!(get_sandbox(sandbox.id(), Some(config())).await.unwrap().info.image, "python");

    sandbox.pause().await.unwrap();
    sandbox.refresh().await.unwrap();
    assert_eq!(sandbox.status(), "paused");
    assert_eq!(sandbox.exec("true", None).await.unwrap_err().code(), Some(ErrorCode::Conflict));
    sandbox.resume().await.unwrap();

    let later = sandbox.info.expires_at + 60_000;
    sandbox.renew(later).await.unwrap();
    assert_eq!(sandbox.info.expires_at, later);
    assert!(sandbox.metrics().await.unwrap().pids >= 1);

    let id = sandbox.id().to_string();
    sandbox.close().await.unwrap();
    assert!(get_sandbox(&id, Some(config())).await.err().unwrap().is_not_found());
}

#[tokio::test]
async fn a_guard_kills_unless_kept() {
    let (dropped, kept) = (sandbox().await, sandbox().await.keep());
    let id = dropped.id().to_string();
    drop(dropped);
    assert!(get_sandbox(&id, Some(config())).await.err().unwrap().is_not_found());
    assert_eq!(get_sandbox(kept.id(), Some(config())).await.unwrap().status(), "running");
    kept.kill().await.unwrap();
}

#[tokio::test]
async fn commands() {
    let sandbox = sandbox().await;
    let result = sandbox.exec("echo out; echo err >&2; exit 42", Some(20)).await.unwrap();
    assert_eq!((result.exit_code, &*result.stdout, &*result.stderr), (42, "out\n", "err\n"));
    let words = sandbox.exec(["printf", "%s", "a b"], None).await.unwrap();
    assert_eq!(words.stdout, "a b");

    let mut output = sandbox.exec_stream("echo a; sleep 0.2; echo b >&2; exit 3").await.unwrap();
    let mut seen = Vec::new();
    while let Some(event) = output.next().await {
        let event = event.unwrap();
        seen.push((event.r#type, event.data.unwrap_or_default()));
    }
    let wanted = [("stdout", "a\n"), ("stderr", "b\n"), ("exit", "3")];
    assert_eq!(seen, wanted.map(|(kind, data)| (kind.to_string(), data.to_string())));

    let job = sandbox.exec_background("echo begun; sleep 60").await.unwrap();
    assert!(sandbox.background_status(&job.id).await.unwrap().running);
    eventually(|| async {
        sandbox.background_logs(&job.id, None).await.unwrap().output.contains("begun").then_some(())
    })
    .await;
    sandbox.interrupt(None).await.unwrap();
}

#[tokio::test]
async fn a_command_gets_what_it_is_given() {
    let sandbox = sandbox().await;
    let result = sandbox
        .command("echo $A; id -un; pwd; cat; exit 3")
        .env("A", "b c")
        .user("nobody")
        .cwd("/tmp")
        .stdin("in")
        .await;
    let result = result.unwrap();
    assert_eq!((&*result.stdout, result.status().to_string()), ("b c\nnobody\n/tmp\nin", "exit code 3".to_string()));
    assert_eq!(sandbox.command("kill -9 $$").await.unwrap().status().signal.as_deref(), Some("KILL"));
    let failed = sandbox.command(["sh", "-c", "echo why >&2; exit 3"]).check().await.unwrap_err();
    assert!(matches!(&failed, SandboxError::Command { result, .. } if result.stderr == "why\n"), "{failed}");

    let (mut out, mut err) = (String::new(), String::new());
    let watched =
        sandbox.command("echo a; echo b >&2").on_stdout(|t| out.push_str(t)).on_stderr(|t| err.push_str(t)).await;
    assert_eq!((&*watched.unwrap().stdout, &*out, &*err), ("a\n", "a\n", "b\n"));
    let short = Duration::from_millis(1);
    for late in [
        sandbox.command("echo so far; sleep 60").timeout(short).await.unwrap_err(),
        sandbox.command("echo so far; sleep 60").timeout(short).on_stderr(|_| ()).await.unwrap_err(),
    ] {
        let result = late.result().unwrap();
        assert!(late.is_timeout() && result.status().timed_out && result.stdout == "so far\n", "{late}");
    }
    let events = sandbox.command("exit 4").stream().await.unwrap().map(|e| e.unwrap()).collect::<Vec<_>>().await;
    assert_eq!(events.last().unwrap().status().unwrap().code, 4);
}

#[tokio::test]
async fn code_keeps_its_variables() {
    let sandbox = sandbox().await;
    get_sandbox(sandbox.id(), Some(config())).await.unwrap().run_code("x = 20").await.unwrap(); // of another handle
    let mut seen = String::new();
    let answer = sandbox.run_code("print('seen'); x * 2 + 2").on_stdout(|t| seen.push_str(t)).await.unwrap();
    assert_eq!((answer.text.as_deref(), &*answer.stdout, &*seen), (Some("42"), "seen\n", "seen\n"));
    assert_eq!(sandbox.run_code("1 / 0").await.unwrap().error.unwrap().name, "ZeroDivisionError");
    assert!(sandbox.run_code("import time; time.sleep(60)").timeout(Duration::from_millis(1)).await.unwrap().timed_out);
    assert_eq!(sandbox.run_code("echo $((6 * 7))").language("bash").await.unwrap().stdout, "42\n");
    let dead = sandbox.run_code("import os; os._exit(3)").await.unwrap();
    assert_eq!(dead.error.unwrap().name, "ContextDied");
    assert_eq!(sandbox.run_code("6 * 7").await.unwrap().text.as_deref(), Some("42"));
}

/// Bytes of which no piece is like another.
fn pattern(size: usize) -> Vec<u8> {
    (0..size as u64).map(|i| (i.wrapping_mul(2_654_435_761) >> 16) as u8).collect()
}

#[tokio::test]
async fn files_as_streams() {
    let sandbox = sandbox().await;
    let (files, all) = (&sandbox.filesystem, pattern(5_000_000));
    let told = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let (up, down) = (told.clone(), told.clone());
    let last = || told.lock().unwrap().last().copied();

    let from = std::io::Cursor::new(all.clone());
    let upload = files.write_from("big/f", from).mode("0640").on_progress(move |n, of| up.lock().unwrap().push((n, of)));
    let put = upload.await.unwrap();
    assert_eq!((put.size, put.created, last()), (5_000_000, Some(true), Some((5_000_000, None))));
    let reader = files.open("big/f").on_progress(move |n, of| down.lock().unwrap().push((n, of))).await.unwrap();
    assert_eq!((reader.size, reader.mode.as_deref(), &reader.etag), (Some(5_000_000), Some("0640"), &put.etag));
    let pieces: Vec<_> = reader.into_stream().map(|piece| piece.unwrap()).collect().await;
    assert!(pieces.concat() == all && last() == Some((5_000_000, Some(5_000_000))));

    let mut part = Vec::new();
    files.open("big/f").range(1000, Some(500)).await.unwrap().read_to_end(&mut part).await.unwrap();
    assert_eq!(part, all[1000..1500]);
    let again = files.write_from("big/f", std::io::Cursor::new(all.clone())).create_new().await;
    assert_eq!(again.unwrap_err().code(), Some(ErrorCode::PreconditionFailed));
    let stale = files.open("big/f").if_match("\"other\"").await;
    assert_eq!(stale.unwrap_err().code(), Some(ErrorCode::PreconditionFailed));
    let broken = futures_util::stream::iter([Ok("a"), Err(std::io::Error::other("the source broke"))]);
    assert!(files.write_stream("big/f", broken).await.unwrap_err().to_string().contains("the source broke"));

    let folder = std::env::temp_dir().join(format!("rust-{}", sandbox.id()));
    std::fs::create_dir(&folder).unwrap();
    assert_eq!(files.download_file("big/f", folder.join("f")).await.unwrap(), 5_000_000);
    assert_eq!(files.upload_file(folder.join("f"), "copy").await.unwrap().mode.as_deref(), Some("0640"));
    assert!(files.download_bytes("copy").await.unwrap() == all);
    assert!(files.download_file("missing", folder.join("g")).await.unwrap_err().is_not_found());
    assert!(matches!(files.upload_file(folder.join("none"), "g").await, Err(SandboxError::Io(_))));
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[tokio::test]
async fn sandboxes_by_name_copies_and_links() {
    let sandbox = sandbox().await;
    let (api, name) = (sandbox.api(), format!("rust-{}", sandbox.id()));
    let one = api.connect_or_create(&name, "python").await.unwrap().guard();
    one.pause().await.unwrap();
    let two = api.connect_or_create(&name, "python").await.unwrap();
    assert_eq!((two.id(), two.status()), (one.id(), "running"));
    assert_eq!(api.open(&name).await.unwrap().id(), one.id());
    api.sandbox_stop(one.id(), Default::default()).await.unwrap();
    let three = api.connect_or_create(&name, "python").await.unwrap();
    assert_eq!((three.id(), three.status()), (one.id(), "running"));

    sandbox.filesystem.write("/workspace/f", "kept").await.unwrap();
    let copy = sandbox.clone_as(None).await.unwrap().guard();
    assert_eq!(copy.filesystem.read("/workspace/f").await.unwrap(), "kept");
    let children =
        SandboxListOptions { parent_id: Some(sandbox.info.id.clone()), page_size: Some(1), ..Default::default() };
    let forks: Vec<_> = sandbox.fork(2, None).await.unwrap().into_iter().map(Sandbox::guard).collect();
    assert_eq!(api.list(children).await.unwrap().len(), forks.len() + 1);
    assert!(sandbox.get_url(8000).await.unwrap().contains("8000-"));
}

#[tokio::test]
async fn a_long_command_outlasts_the_timeout_of_calls() {
    let quick = ClientConfig { timeout_ms: 400, ..config() };
    let kept = sandbox().await;
    let sandbox = get_sandbox(kept.id(), Some(quick)).await.unwrap();
    assert_eq!(sandbox.exec("sleep 1; echo done", None).await.unwrap().stdout, "done\n");
}

#[tokio::test]
async fn durable_commands() {
    let sandbox = sandbox().await;
    let options = ExecStartOptions { stdin: Some(true), ..Default::default() };
    let job = sandbox.jobs.start("read line; echo got $line; exit 4", options).await.unwrap();
    let follow = sandbox.jobs.follow(&job.id, 0).await.unwrap();
    let input = ExecInputOptions { data: Some("words\n".into()), close: Some(true), ..Default::default() };
    assert_eq!(sandbox.jobs.input(&job.id, input).await.unwrap().written, 6);
    let events: Vec<_> = follow.map(|event| serde_json::to_value(event.unwrap()).unwrap()).collect().await;
    assert!(serde_json::to_string(&events).unwrap().contains("got words"), "{events:?}");
    assert_eq!(sandbox.jobs.get(&job.id).await.unwrap().exit_code, Some(4));
    assert_eq!(sandbox.jobs.output(&job.id, Default::default()).await.unwrap().output, "got words\n");
    assert_eq!(sandbox.jobs.list().await.unwrap().len(), 1);

    let sleeper = sandbox.jobs.start("sleep 60", Default::default()).await.unwrap();
    assert_eq!(sandbox.jobs.signal(&sleeper.id, Some("KILL")).await.unwrap().signal, "KILL");
}

#[tokio::test]
async fn files() {
    let sandbox = sandbox().await;
    let files = &sandbox.filesystem;
    files.write("/workspace/a.txt", "grüße ☃\n").await.unwrap();
    assert_eq!(files.read("/workspace/a.txt").await.unwrap(), "grüße ☃\n");
    let bytes: Vec<u8> = (0..=255).collect();
    files.upload_bytes("/workspace/raw", &bytes).await.unwrap();
    assert_eq!(files.download_bytes("/workspace/raw").await.unwrap(), bytes);
    assert_eq!(files.info("/workspace/raw").await.unwrap().size, 256);
    assert_eq!(files.info_all(["/workspace/raw", "/workspace/a.txt"]).await.unwrap().len(), 2);

    files.mkdir("/workspace/deep/er").await.unwrap();
    files.rename("/workspace/raw", "/workspace/deep/er/raw").await.unwrap();
    files.chmod("/workspace/deep/er/raw", "750").await.unwrap();
    assert_eq!(files.info("/workspace/deep/er/raw").await.unwrap().permissions, "-rwxr-x---");
    assert_eq!(files.search("raw", None).await.unwrap(), ["/workspace/deep/er/raw"]);
    assert!(files.list(None).await.unwrap().iter().any(|f| f.name == "deep" && f.is_directory));
    files.rmdir("/workspace/deep").await.unwrap();
    files.delete("/workspace/a.txt").await.unwrap();
    assert!(files.read("/workspace/a.txt").await.unwrap_err().is_not_found());
    assert_eq!(files.read("../etc/passwd").await.unwrap_err().code(), Some(ErrorCode::InvalidArgument));
}

#[tokio::test]
async fn environment_and_processes() {
    let sandbox = sandbox().await;
    sandbox.env.set([("COLOUR", "blue"), ("SHAPE", "round")]).await.unwrap();
    assert_eq!(sandbox.env.get("COLOUR").await.unwrap().value.as_deref(), Some("blue"));
    assert_eq!(sandbox.exec("echo $COLOUR $SHAPE", None).await.unwrap().stdout, "blue round\n");
    sandbox.env.delete("COLOUR").await.unwrap();
    assert!(!sandbox.env.get("COLOUR").await.unwrap().exists);
    assert_eq!(sandbox.env.list().await.unwrap().vars["SHAPE"], "round");

    let pid: i64 =
        sandbox.exec("sleep 99 >/dev/null 2>&1 & echo $!", None).await.unwrap().stdout.trim().parse().unwrap();
    assert!(sandbox.processes.list().await.unwrap().processes.iter().any(|p| p.pid == pid));
    assert!(sandbox.processes.top().await.unwrap().processes.iter().any(|p| p.pid == pid));
    assert_eq!(sandbox.processes.kill(pid, Some("KILL")).await.unwrap().killed, pid);
}

#[tokio::test]
async fn git() {
    let sandbox = sandbox().await;
    let made = sandbox
        .exec("git init -q . && git config user.email a@b.c && git config user.name n && echo x > f", None)
        .await;
    assert_eq!(made.unwrap().exit_code, 0);
    assert_eq!(sandbox.git.status(None).await.unwrap().files[0].path, "f");
    sandbox.exec("git add f", None).await.unwrap();
    let diff = GitDiffOptions { staged: Some(true), ..Default::default() };
    assert!(sandbox.git.diff(diff).await.unwrap().diff.contains("+x"));
    let all = GitCommitOptions { all: Some(true), ..Default::default() };
    assert_eq!(sandbox.git.commit("first", all).await.unwrap().exit_code, 0);
    assert_eq!(sandbox.git.log(Default::default()).await.unwrap().entries[0].message, "first");
    let branch = GitBranchOptions { name: Some("side".into()), ..Default::default() };
    assert_eq!(sandbox.git.branch(branch).await.unwrap().current, "side");
    let copy = GitCloneOptions { path: Some("/workspace/copy".into()), ..Default::default() };
    assert_eq!(sandbox.git.clone_repo("/workspace", copy).await.unwrap().exit_code, 0);
    assert_ne!(sandbox.git.checkout("nowhere", None).await.unwrap().exit_code, 0);
    let in_copy = GitPullOptions { path: Some("/workspace/copy".into()), ..Default::default() };
    assert_eq!(sandbox.git.pull(in_copy).await.unwrap().exit_code, 0);
    let push =
        GitPushOptions { path: Some("/workspace/copy".into()), branch: Some("side".into()), ..Default::default() };
    sandbox.git.push(push).await.unwrap();
}

#[tokio::test]
async fn code_and_contexts() {
    let sandbox = sandbox().await;
    let result = sandbox.interpreter.run("print(6 * 7)", None).await.unwrap();
    assert_eq!((&*result.output, result.error), ("42\n", None));
    assert!(sandbox
        .interpreter
        .run("1 / 0", Some("python"))
        .await
        .unwrap()
        .error
        .unwrap()
        .contains("ZeroDivisionError"));
    assert!(sandbox.interpreter.kernels().await.unwrap().iter().any(|k| k.language == "python"));

    let context = sandbox.contexts.create(Default::default()).await.unwrap();
    sandbox.contexts.execute(&context.id, "x = 20", Default::default()).await.unwrap();
    let rich = sandbox.contexts.execute(&context.id, "print('seen'); x + 1", Default::default()).await.unwrap();
    assert_eq!((&*rich.stdout, rich.results.len()), ("seen\n", 1));
    let events = sandbox.contexts.execute_stream(&context.id, "print(x)", Default::default()).await.unwrap();
    let kinds: Vec<String> = events.map(|event| event.unwrap().r#type).collect().await;
    assert_eq!(kinds.last().map(String::as_str), Some("end"));
    assert_eq!(sandbox.contexts.list().await.unwrap().len(), 1);
    assert_eq!(sandbox.contexts.restart(&context.id).await.unwrap().id, context.id);
    let lost = sandbox.contexts.execute(&context.id, "x", Default::default()).await.unwrap();
    assert_eq!(lost.error_name.as_deref(), Some("NameError"));
    sandbox.contexts.delete(&context.id).await.unwrap();
    assert!(sandbox.contexts.get(&context.id).await.unwrap_err().is_not_found());
}

#[tokio::test]
async fn terminals() {
    let sandbox = sandbox().await;
    let size = TerminalCreateOptions { cols: Some(90), rows: Some(20), ..Default::default() };
    let mut terminal = sandbox.terminal.open(size).await.unwrap();
    terminal.send("stty size\n").await.unwrap();
    terminal.read_until("20 90").await.unwrap();
    terminal.resize(132, 43).await.unwrap();
    terminal.send("stty size; exit 7\n").await.unwrap();
    let mut rest = Vec::new();
    while let Some(piece) = terminal.read().await.unwrap() {
        rest.extend(piece);
    }
    assert!(String::from_utf8_lossy(&rest).contains("43 132"), "{rest:?}");
    assert_eq!(terminal.end(), Some(&TerminalEnd::Exited(7)));

    let second = sandbox.terminal.create(Default::default()).await.unwrap();
    assert_eq!(sandbox.terminal.resize(&second.session_id, 100, 50).await.unwrap().cols, 100);
    sandbox.terminal.close(&second.session_id).await.unwrap();
    assert!(sandbox.terminal.attach(&second.session_id).await.err().unwrap().is_not_found());
}

#[tokio::test]
async fn ports_and_proxy() {
    let sandbox = sandbox().await;
    sandbox.exec_background("python3 -m http.server 8000 --bind 127.0.0.1").await.unwrap();
    sandbox.ports.expose(8000, None, None).await.unwrap();
    let get = || ProxyRequestOptions { path: Some("/".into()), ..Default::default() };
    let answer =
        eventually(|| async { sandbox.ports.request(8000, get()).await.ok().filter(|a| a.status_code == 200) }).await;
    assert!(answer.body.contains("Directory listing"));
    assert_eq!(sandbox.ports.list().await.unwrap().ports[0].container_port, 8000);
    assert!(sandbox.ports.proxy_url(8000).ends_with(&format!("/sandbox/proxy/{}/8000", sandbox.id())));
    let shorter = ProxyConfigOptions { timeout: Some(5000), ..Default::default() };
    assert_eq!(sandbox.ports.configure(shorter).await.unwrap().timeout, 5000);
    assert_eq!(sandbox.ports.unexpose(8000).await.unwrap().removed, 8000);
}

#[tokio::test]
async fn queue() {
    let sandbox = sandbox().await;
    let job = sandbox.queue.submit("echo queued", Default::default()).await.unwrap();
    let done =
        eventually(|| async { sandbox.queue.status(&job.id).await.ok().filter(|j| j.status == "completed") }).await;
    assert_eq!(done.result.unwrap().stdout, "queued\n");
    assert!(sandbox.queue.cancel(&job.id).await.is_err());
    assert!(sandbox.queue.retry(&job.id).await.is_err());
    assert!(sandbox.queue.dlq(Some(1)).await.unwrap().jobs.len() <= 1);
}

#[tokio::test]
async fn snapshots_clones_and_forks() {
    let sandbox = sandbox().await;
    sandbox.filesystem.write("/workspace/f", "before").await.unwrap();
    let snapshot = sandbox.snapshot(Some("first")).await.unwrap();
    sandbox.filesystem.write("/workspace/f", "after").await.unwrap();
    sandbox.restore(&snapshot.id).await.unwrap();
    assert_eq!(sandbox.filesystem.read("/workspace/f").await.unwrap(), "before");
    assert_eq!(sandbox.list_snapshots().await.unwrap().snapshots.len(), 1);

    let snapshots = SnapshotManager::new(sandbox.api().http().clone());
    let of_snapshot = snapshots.clone_sandbox(&snapshot.id, None).await.unwrap();
    let of_sandbox = sandbox.clone_sandbox(Some("copy")).await.unwrap();
    for info in [of_snapshot, of_sandbox] {
        let copy = Sandbox::new(sandbox.api().clone(), info).guard();
        assert_eq!(copy.filesystem.read("/workspace/f").await.unwrap(), "before");
    }
    for fork in sandbox.fork(2, None).await.unwrap() {
        let fork = fork.guard();
        assert_eq!(fork.info.parent_id.as_deref(), Some(sandbox.id()));
    }
    assert_eq!(snapshots.delete(&snapshot.id).await.unwrap().deleted, snapshot.id);
}

#[tokio::test]
async fn streams_events_and_alerts() {
    let sandbox = sandbox().await;
    let mut metrics = sandbox.streams.metrics(Some(1)).await.unwrap();
    assert_eq!(metrics.next().await.unwrap().unwrap().sandbox_id, sandbox.id());
    let logs = StreamLogsOptions { follow: Some(false), ..Default::default() };
    let last = sandbox.streams.logs(logs).await.unwrap().map(|e| e.unwrap().r#type).collect::<Vec<_>>().await;
    assert_eq!(last.last().map(String::as_str), Some("end"));

    let events = EventManager::new(sandbox.api().http().clone());
    let topic = format!("rust.{}", sandbox.id());
    let mut live = events.stream(Some(&topic)).await.unwrap();
    let data = BTreeMap::from([("n".to_string(), 1.into())]);
    events.publish(&topic, sandbox.id(), Some(data)).await.unwrap();
    assert_eq!(live.next().await.unwrap().unwrap().data["n"], 1);
    let history = EventHistoryOptions { topic: Some(topic), ..Default::default() };
    assert_eq!(events.history(history).await.unwrap().total, 1);

    let alert = sandbox.monitor.set_alert("memory", 99.5, None).await.unwrap();
    assert_eq!(sandbox.monitor.list_alerts().await.unwrap().alerts[0].threshold, 99.5);
    sandbox.monitor.history(Some(5)).await.unwrap();
    assert_eq!(sandbox.monitor.delete_alert(&alert.id).await.unwrap().deleted, alert.id);
}

#[tokio::test]
async fn networks_volumes_and_egress() {
    let sandbox = sandbox().await;
    let http = sandbox.api().http().clone();
    let networks = NetworkManager::new(http.clone());
    let network = networks.create(&format!("net-{}", sandbox.id()), None).await.unwrap();
    assert!(networks.connect(&network.id, sandbox.id()).await.unwrap().connected);
    assert!(networks.list().await.unwrap().networks.iter().any(|n| n.sandboxes.contains(&sandbox.info.id)));
    assert!(networks.disconnect(&network.id, sandbox.id()).await.unwrap().disconnected);
    networks.delete(&network.id).await.unwrap();

    let volumes = VolumeManager::new(http);
    let volume = volumes.create("kept", None, None).await.unwrap();
    volumes.attach(&volume.id, sandbox.id(), "/data").await.unwrap();
    assert_eq!(sandbox.exec("echo kept > /data/f", None).await.unwrap().exit_code, 0);
    assert!(volumes.detach(&volume.id).await.unwrap().detached);
    volumes.attach_read_only(&volume.id, sandbox.id(), "/data").await.unwrap();
    assert_ne!(sandbox.exec("echo no > /data/f", None).await.unwrap().exit_code, 0);
    volumes.detach(&volume.id).await.unwrap();
    assert!(volumes.list().await.unwrap().volumes.iter().any(|v| v.id == volume.id));
    volumes.delete(&volume.id).await.unwrap();

    let online = SandboxCreateOptions { image: Some("python".into()), network: Some(true), ..Default::default() };
    let sandbox = create_sandbox(online, Some(config())).await.unwrap().guard();
    let rule = EgressSetRule { action: "deny".into(), cidr: Some("10.0.0.0/8".into()), domain: None, ports: None };
    let policy = EgressSetOptions { r#default: Some("deny".into()), rules: Some(vec![rule]) };
    assert_eq!(sandbox.egress.set(policy).await.unwrap().rules.len(), 1);
    assert_eq!(sandbox.egress.get().await.unwrap().r#default, "deny");
}

#[tokio::test]
async fn templates_images_tokens_and_the_server() {
    let api = Api::connect(config()).unwrap();
    let templates = TemplateManager::new(api.http().clone());
    let from = serde_json::from_value(serde_json::json!({"image": "python", "memory": 128})).unwrap();
    let made = templates.create("rust-live", &from, Default::default()).await.unwrap();
    assert!(list_templates(Some(config())).await.unwrap().iter().any(|t| t.id == made.id));
    let options = SandboxCreateOptions { template: Some(made.id.clone()), ..Default::default() };
    let sandbox = create_sandbox(options, Some(config())).await.unwrap().guard();
    assert_eq!((&*sandbox.info.image, sandbox.info.config.memory), ("python", Some(128)));
    assert_eq!(templates.get(&made.id).await.unwrap().name, "rust-live");
    templates.delete(&made.id).await.unwrap();

    assert!(ImageManager::new(api.http().clone()).list().await.unwrap().iter().any(|i| i.name.starts_with("python")));

    let tokens = TokenManager::new(api.http().clone());
    let reader =
        TokenCreateOptions { role: Some("read-only".into()), tenant: Some("rust".into()), ..Default::default() };
    let token = tokens.create("rust-live", reader).await.unwrap();
    let weak = ClientConfig { token: token.secret.clone(), ..config() };
    let refused = create_sandbox(SandboxCreateOptions::default(), Some(weak)).await.err().unwrap();
    assert_eq!(refused.code(), Some(ErrorCode::Forbidden));
    assert_ne!(tokens.rotate(&token.id).await.unwrap().secret, token.secret);
    assert!(tokens.revoke(&token.id).await.unwrap().revoked);

    let admin = AdminClient::new(api.http().clone());
    assert_eq!(admin.health().await.unwrap().status, "healthy");
    assert!(admin.metrics().await.unwrap().active_sandboxes >= 1);
    assert!(admin.workers().await.unwrap().alive >= 1);
    assert!(admin.openapi().await.unwrap().contains_key("paths"));
    admin.sweep().await.unwrap();
    admin.pool_status().await.unwrap();
    let traces = TraceOptions { limit: Some(1), ..Default::default() };
    assert_eq!(ObservabilityClient::new(api.http().clone()).traces(traces).await.unwrap().traces.len(), 1);
}
