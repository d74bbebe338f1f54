//! The transport against servers that misbehave on purpose: each is a socket with prepared answers.

use std::time::Duration;

use iii_sandbox::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

const SANDBOX: &str = r#"{"id":"sbx_1","name":"n","image":"i","status":"running","createdAt":1,"expiresAt":2,"config":{"image":"i"},"metadata":{}}"#;

fn answer(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
}

/// Gives each connection the next answer, and the requests that came.
async fn serve(answers: Vec<String>) -> (ClientConfig, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}//", listener.local_addr().unwrap());
    let task = tokio::spawn(async move {
        let mut requests = Vec::new();
        for answer in answers {
            let (mut socket, _) = listener.accept().await.unwrap();
            requests.push(read_request(&mut socket).await);
            socket.write_all(answer.as_bytes()).await.unwrap();
        }
        requests
    });
    (ClientConfig { base_url, token: Some("secret".into()), ..Default::default() }, task)
}

async fn read_request(socket: &mut tokio::net::TcpStream) -> String {
    let mut request = String::new();
    let mut piece = [0; 4096];
    loop {
        let count = socket.read(&mut piece).await.unwrap();
        request.push_str(std::str::from_utf8(&piece[..count]).unwrap());
        if let Some((head, body)) = request.split_once("\r\n\r\n") {
            let head = head.to_lowercase();
            let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()?.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                return request;
            }
        }
        assert!(count > 0, "the client left within {request:?}");
    }
}

#[tokio::test]
async fn the_default_image_is_sent_but_not_beside_a_template() {
    let (config, server) = serve(vec![answer("200 OK", SANDBOX); 3]).await;
    create_sandbox(SandboxCreateOptions::default(), Some(config.clone())).await.unwrap();
    let template = SandboxCreateOptions { template: Some("python-data".into()), ..Default::default() };
    create_sandbox(template.clone(), Some(config.clone())).await.unwrap();
    let both = SandboxCreateOptions { image: Some("mine".into()), ..template };
    create_sandbox(both, Some(config)).await.unwrap();

    let requests = server.await.unwrap();
    assert!(requests[0].starts_with("POST /sandbox/sandboxes HTTP/1.1\r\n"), "{}", requests[0]);
    assert!(requests[0].to_lowercase().contains("authorization: bearer secret\r\n"));
    assert!(requests[0].ends_with("\r\n\r\n{}"), "{}", requests[0]);
    assert!(requests[1].ends_with(r#"{"template":"python-data"}"#), "{}", requests[1]);
    assert!(requests[2].ends_with(r#"{"image":"mine","template":"python-data"}"#), "{}", requests[2]);
}

#[tokio::test]
async fn a_read_is_tried_again_and_a_change_is_not() {
    let busy = answer("503 Service Unavailable", r#"{"error":"no room"}"#);
    let (config, server) = serve(vec![busy.clone(), busy.clone(), answer("200 OK", SANDBOX)]).await;
    assert_eq!(get_sandbox("sbx_1", Some(config)).await.unwrap().id(), "sbx_1");
    assert_eq!(server.await.unwrap().len(), 3);

    let (config, server) = serve(vec![busy]).await;
    let error = create_sandbox(SandboxCreateOptions::default(), Some(config)).await.err().unwrap();
    assert_eq!((error.code(), error.message().as_str()), (Some(ErrorCode::NoCapacity), "no room"));
    assert_eq!(server.await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_change_with_a_key_is_tried_again_with_the_same_key() {
    let busy = "HTTP/1.1 429 Too Many\r\nRetry-After: 0\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_string();
    let (config, server) = serve(vec![busy, answer("200 OK", SANDBOX)]).await;
    let options = SandboxCreateOptions { idempotency_key: Some("once-7".into()), ..Default::default() };
    create_sandbox(options, Some(config)).await.unwrap();
    let requests = server.await.unwrap();
    assert!(requests.iter().all(|r| r.to_lowercase().contains("idempotency-key: once-7\r\n")), "{requests:?}");
    assert_eq!(requests.len(), 2);
}

#[tokio::test]
async fn a_failure_that_stays_is_not_tried_again() {
    let (config, server) = serve(vec![answer("404 Not Found", r#"{"error":"no sandbox"}"#)]).await;
    let asked = format!("GET {}/sandbox/sandboxes/sbx_1", config.base_url.trim_end_matches('/'));
    let error = get_sandbox("sbx_1", Some(config)).await.err().unwrap();
    assert!(error.is_not_found());
    assert_eq!(error.to_string(), format!("{asked} failed: 404 no sandbox"));
    server.await.unwrap();
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_left_after_the_time() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}", listener.local_addr().unwrap());
    let config = ClientConfig { base_url, timeout_ms: 200, ..Default::default() };
    let error = get_sandbox("sbx_1", Some(config)).await.err().unwrap();
    assert!(error.is_timeout(), "{error}");
}

#[tokio::test]
async fn a_stream_outlives_the_timeout_of_calls() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        read_request(&mut socket).await;
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n: hello\n\n";
        socket.write_all(head.as_bytes()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(600)).await;
        socket.write_all(b"data: {\"type\":\"exit\",\"data\":\"0\",\"timestamp\":1}\n\n").await.unwrap();
    });
    let http = HttpClient::new(ClientConfig { base_url, timeout_ms: 200, ..Default::default() }).unwrap();
    let mut events = http.stream_get::<ExecStreamChunk>("/any").await.unwrap();
    let event = futures_util::StreamExt::next(&mut events).await.unwrap().unwrap();
    assert_eq!(event.r#type, "exit");
}

#[tokio::test]
async fn a_stream_that_breaks_off_says_so() {
    let cut =
        "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\ndata: {\"type\":\"stdout\",\"data\":\"a\",\"timestamp\":1}\n\n";
    let (config, server) = serve(vec![cut.to_string()]).await;
    let http = HttpClient::new(config).unwrap();
    let mut events = http.stream_post::<_, ExecStreamChunk>("/any", &serde_json::json!({})).await.unwrap();
    assert_eq!(futures_util::StreamExt::next(&mut events).await.unwrap().unwrap().data.as_deref(), Some("a"));
    let error = futures_util::StreamExt::next(&mut events).await.unwrap().unwrap_err();
    assert!(matches!(error, SandboxError::Stream(_)), "{error}");
    assert!(futures_util::StreamExt::next(&mut events).await.is_none());
    server.await.unwrap();
}

#[test]
fn what_cannot_be_sent_is_refused_before() {
    let error = HttpClient::new(ClientConfig { base_url: "no url".into(), ..Default::default() }).err().unwrap();
    assert!(matches!(error, SandboxError::ClientBuild(_)), "{error}");
}
