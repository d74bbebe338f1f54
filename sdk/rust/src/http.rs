//! The transport: one connection pool, the token, timeouts, retries of what may be sent twice.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Method, Response, StatusCode};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::error::{Result, SandboxError};
use crate::sse::{self, EventStream};

/// Where the server is, and how long to wait for it. The default is what the environment says, as for the command line.
#[derive(Clone)]
pub struct ClientConfig {
    /// Default: `III_SANDBOX_URL`, otherwise `http://localhost:3111`. Slashes at the end do not matter.
    pub base_url: String,
    /// Bearer token, when the server wants one. Default: `III_SANDBOX_TOKEN`, otherwise `III_AUTH_TOKEN`.
    pub token: Option<String>,
    /// A PEM certificate to trust beside those of the system. Default: `III_CA_CERT`.
    pub ca_file: Option<PathBuf>,
    /// Longest time for one answer, default 30 000; 0: no limit. Calls that take as long as their work (a command, a pull, a
    /// snapshot) and streams have no limit here; their own `timeout` goes to the server.
    pub timeout_ms: u64,
    /// How often a call that may be sent twice is sent again after a failure that passes. Default 2.
    pub max_retries: u32,
}

impl Default for ClientConfig {
    fn default() -> Self {
        ClientConfig {
            base_url: from_env(&["III_SANDBOX_URL"]).unwrap_or_else(|| "http://localhost:3111".into()),
            token: from_env(&["III_SANDBOX_TOKEN", "III_AUTH_TOKEN"]),
            ca_file: from_env(&["III_CA_CERT"]).map(Into::into),
            timeout_ms: 30_000,
            max_retries: 2,
        }
    }
}

/// The first of these variables that has a value.
fn from_env(names: &[&str]) -> Option<String> {
    names.iter().filter_map(|name| std::env::var(name).ok()).find(|value| !value.is_empty())
}

/// Without the token.
impl fmt::Debug for ClientConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientConfig")
            .field("base_url", &without_password(&self.base_url))
            .field("token", &self.token.as_ref().map(|_| "(hidden)"))
            .field("ca_file", &self.ca_file)
            .field("timeout_ms", &self.timeout_ms)
            .field("max_retries", &self.max_retries)
            .finish()
    }
}

/// An address as it may be shown.
fn without_password(url: &str) -> String {
    match (url.find("://"), url.rfind('@')) {
        (Some(scheme), Some(at)) if scheme < at => format!("{}…{}", &url[..scheme + 3], &url[at..]),
        _ => url.into(),
    }
}

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// Calls without a deadline still end when the other host is gone.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// One request before it is sent.
#[derive(Default)]
pub(crate) struct Call {
    pub method: Method,
    pub path: String,
    pub query: Vec<(&'static str, String)>,
    pub headers: Vec<(&'static str, String)>,
    pub body: Option<String>,
    pub idempotency_key: Option<String>,
    /// Repeating it changes nothing.
    pub safe: bool,
    /// It takes as long as its work takes: no deadline.
    pub long: bool,
}

impl Call {
    pub(crate) fn new(method: Method, path: impl Into<String>) -> Self {
        Call { safe: method == Method::GET, method, path: path.into(), ..Call::default() }
    }

    /// A field of the query string; text as it is, anything else as JSON.
    pub(crate) fn ask<T: Serialize>(&mut self, name: &'static str, value: Option<&T>) -> Result<()> {
        if let Some(value) = value {
            let text = match serde_json::to_value(value)? {
                Value::String(text) => text,
                other => other.to_string(),
            };
            self.query.push((name, text));
        }
        Ok(())
    }

    /// With an Idempotency-Key the server carries a call out once, however often it comes.
    fn may_be_sent_twice(&self) -> bool {
        self.safe || self.idempotency_key.is_some()
    }
}

/// The HTTP client below everything else; also for calls that this crate does not know.
pub struct HttpClient {
    http: reqwest::Client,
    base_url: String,
    config: ClientConfig,
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HttpClient({})", self.base_url)
    }
}

impl HttpClient {
    pub fn new(config: ClientConfig) -> Result<Self> {
        let base_url = config.base_url.trim_end_matches('/').to_string();
        let shown = without_password(&base_url);
        let url = reqwest::Url::parse(&base_url)
            .map_err(|e| SandboxError::ClientBuild(format!("\"{shown}\" is no URL: {e}")))?;
        if !url.username().is_empty() || url.password().is_some() {
            let why = format!("\"{shown}\" has a user in it, which errors would show; the token is given apart");
            return Err(SandboxError::ClientBuild(why));
        }
        let builder = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_keepalive(KEEPALIVE)
            .redirect(reqwest::redirect::Policy::none());
        let http = trusting(builder, config.ca_file.as_deref())?
            .build()
            .map_err(|e| SandboxError::ClientBuild(e.to_string()))?;
        Ok(HttpClient { http, base_url, config })
    }

    pub fn config(&self) -> &ClientConfig {
        &self.config
    }

    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        self.json(Call::new(Method::GET, path)).await
    }

    pub async fn post<B: Serialize + ?Sized, T: DeserializeOwned>(&self, path: &str, body: &B) -> Result<T> {
        self.json(with_body(path, body)?).await
    }

    pub async fn post_no_body<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        self.json(Call::new(Method::POST, path)).await
    }

    /// Sends the body and drops the answer.
    pub async fn post_empty<B: Serialize + ?Sized>(&self, path: &str, body: &B) -> Result<()> {
        let _: IgnoredAny = self.json(with_body(path, body)?).await?;
        Ok(())
    }

    pub async fn delete<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        self.json(Call::new(Method::DELETE, path)).await
    }

    /// Deletes and drops the answer.
    pub async fn delete_empty(&self, path: &str) -> Result<()> {
        let _: IgnoredAny = self.delete(path).await?;
        Ok(())
    }

    pub async fn stream_post<B, T>(&self, path: &str, body: &B) -> Result<EventStream<T>>
    where
        B: Serialize + ?Sized,
        T: DeserializeOwned + Send + 'static,
    {
        self.events(with_body(path, body)?).await
    }

    pub async fn stream_get<T: DeserializeOwned + Send + 'static>(&self, path: &str) -> Result<EventStream<T>> {
        self.events(Call::new(Method::GET, path)).await
    }

    pub(crate) async fn json<T: DeserializeOwned>(&self, call: Call) -> Result<T> {
        let limit = self.limit(&call);
        let body = self.send(&call, "application/json", limit).await?.bytes().await?;
        serde_json::from_slice(&body).map_err(SandboxError::Json)
    }

    pub(crate) async fn events<T: DeserializeOwned + Send + 'static>(&self, call: Call) -> Result<EventStream<T>> {
        Ok(sse::events(self.send(&call, "text/event-stream", None).await?))
    }

    /// A connection that the server has switched to another protocol.
    pub(crate) async fn upgrade(&self, path: &str, headers: &[(&str, &str)]) -> Result<reqwest::Upgraded> {
        let call = Call::new(Method::GET, path);
        let mut request = self.request(&call)?;
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = request.send().await?;
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            return Err(self.failed(&call, response).await);
        }
        Ok(response.upgrade().await?)
    }

    fn limit(&self, call: &Call) -> Option<Duration> {
        let limited = !call.long && self.config.timeout_ms > 0;
        limited.then(|| Duration::from_millis(self.config.timeout_ms))
    }

    fn request(&self, call: &Call) -> Result<reqwest::RequestBuilder> {
        let mut url = reqwest::Url::parse(&format!("{}{}", self.base_url, call.path))
            .map_err(|e| SandboxError::InvalidArgument(format!("path \"{}\": {e}", call.path)))?;
        if !call.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&call.query);
        }
        let mut request = self.http.request(call.method.clone(), url);
        if let Some(token) = &self.config.token {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        for (name, value) in &call.headers {
            request = request.header(*name, value);
        }
        Ok(request)
    }

    /// Bytes that are read once can be sent only once.
    pub(crate) async fn upload<T: DeserializeOwned>(&self, call: Call, body: reqwest::Body) -> Result<T> {
        let request = self.request(&call)?.header(ACCEPT, "application/json");
        let response = request.header(CONTENT_TYPE, "application/octet-stream").body(body).send().await?;
        if !response.status().is_success() {
            return Err(self.failed(&call, response).await);
        }
        serde_json::from_slice(&response.bytes().await?).map_err(SandboxError::Json)
    }

    /// The answer before its body.
    pub(crate) async fn download(&self, call: Call) -> Result<Response> {
        self.send(&call, "*/*", None).await
    }

    async fn failed(&self, call: &Call, response: Response) -> SandboxError {
        SandboxError::Http {
            method: call.method.to_string(),
            address: self.base_url.clone(),
            path: call.path.clone(),
            status: response.status().as_u16(),
            body: response.text().await.unwrap_or_default(),
        }
    }

    async fn send_once(&self, call: &Call, accept: &str, limit: Option<Duration>) -> Result<Response> {
        let mut request = self.request(call)?.header(ACCEPT, accept);
        if let Some(limit) = limit {
            request = request.timeout(limit);
        }
        if let Some(key) = &call.idempotency_key {
            request = request.header("Idempotency-Key", key);
        }
        if let Some(body) = &call.body {
            request = request.header(CONTENT_TYPE, "application/json").body(body.clone());
        }
        Ok(request.send().await?)
    }

    async fn send(&self, call: &Call, accept: &str, limit: Option<Duration>) -> Result<Response> {
        let mut pause = FIRST_PAUSE;
        let mut left = if call.may_be_sent_twice() { self.config.max_retries } else { 0 };
        loop {
            let outcome = self.send_once(call, accept, limit).await;
            let wait = match &outcome {
                Ok(response) if response.status().is_success() => return outcome,
                Ok(response) if passes(response.status()) => retry_after(response).unwrap_or(pause),
                Err(SandboxError::Request(e)) if !e.is_timeout() && !e.is_builder() => pause,
                _ => Duration::MAX,
            };
            if left == 0 || wait > LONGEST_PAUSE {
                return match outcome {
                    Ok(response) => Err(self.failed(call, response).await),
                    Err(e) => Err(e),
                };
            }
            left -= 1;
            tokio::time::sleep(wait).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

#[cfg(any(feature = "native-tls", feature = "rustls"))]
fn trusting(builder: reqwest::ClientBuilder, ca_file: Option<&Path>) -> Result<reqwest::ClientBuilder> {
    let Some(path) = ca_file else { return Ok(builder) };
    let bad = |why: String| SandboxError::ClientBuild(format!("{}: {why}", path.display()));
    let pem = std::fs::read(path).map_err(|e| bad(e.to_string()))?;
    let certificate = reqwest::Certificate::from_pem(&pem).map_err(|e| bad(e.to_string()))?;
    Ok(builder.add_root_certificate(certificate))
}

#[cfg(not(any(feature = "native-tls", feature = "rustls")))]
fn trusting(builder: reqwest::ClientBuilder, ca_file: Option<&Path>) -> Result<reqwest::ClientBuilder> {
    match ca_file {
        None => Ok(builder),
        Some(_) => Err(SandboxError::ClientBuild("ca_file needs the feature native-tls or rustls".into())),
    }
}

/// Every operation of the server under its own name, with its types. The managers of [`crate::Sandbox`] are the comfortable way to them.
#[derive(Clone, Debug)]
pub struct Api {
    http: Arc<HttpClient>,
}

impl Api {
    pub fn new(http: Arc<HttpClient>) -> Self {
        Api { http }
    }

    pub fn connect(config: ClientConfig) -> Result<Self> {
        Ok(Api::new(Arc::new(HttpClient::new(config)?)))
    }

    pub fn http(&self) -> &Arc<HttpClient> {
        &self.http
    }
}

/// The fields of a struct, to which others can be added.
pub(crate) fn object<T: Serialize>(value: &T) -> Result<Map<String, Value>> {
    match serde_json::to_value(value)? {
        Value::Object(map) => Ok(map),
        _ => Ok(Map::new()),
    }
}

/// Failures that another try may not meet: too many requests, no room, a gateway.
fn passes(status: StatusCode) -> bool {
    matches!(status.as_u16(), 429 | 502 | 503 | 504)
}

fn retry_after(response: &Response) -> Option<Duration> {
    let text = response.headers().get(RETRY_AFTER)?.to_str().ok()?;
    text.parse().ok().map(Duration::from_secs)
}

fn with_body<B: Serialize + ?Sized>(path: &str, body: &B) -> Result<Call> {
    let mut call = Call::new(Method::POST, path);
    call.body = Some(serde_json::to_string(body)?);
    Ok(call)
}

/// One segment of a path. An id is text from outside: it must not name another route.
pub(crate) fn segment(name: &str, value: &str) -> Result<String> {
    if value.is_empty() || value == "." || value == ".." {
        return Err(SandboxError::InvalidArgument(format!("{name} \"{value}\" is no id")));
    }
    let mut out = String::with_capacity(value.len());
    for byte in value.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(byte as char),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::segment;

    #[test]
    fn an_id_stays_one_segment() {
        assert_eq!(segment("id", "sbx_1-a.b~c").unwrap(), "sbx_1-a.b~c");
        assert_eq!(segment("id", "a/../b?c#d e").unwrap(), "a%2F..%2Fb%3Fc%23d%20e");
        for bad in ["", ".", ".."] {
            assert!(segment("id", bad).is_err(), "{bad:?}");
        }
    }
}
