//! Code that is run where the variables of earlier calls are.

use std::fmt;
use std::future::IntoFuture;
use std::time::Duration;

use base64::engine::general_purpose::STANDARD;
use base64::Engine;
use futures_util::StreamExt;

use crate::error::{Result, SandboxError};
use crate::exec::{whole_seconds, Pending, Tell};
use crate::generated::*;
use crate::sandbox::Sandbox;

/// Languages whose variables live between calls.
const WITH_CONTEXTS: [&str; 2] = ["python", "javascript"];

/// What running code gave.
#[derive(Clone, Debug, Default)]
pub struct Execution {
    /// The value of the last expression as text.
    pub text: Option<String>,
    /// It, and everything that was displayed, in each form that it has: text, html, png …
    pub results: Vec<RichResult>,
    pub stdout: String,
    pub stderr: String,
    /// The exception that ended the code.
    pub error: Option<CodeError>,
    pub timed_out: bool,
    /// There was more output than the server keeps.
    pub truncated: bool,
    pub duration: Duration,
}

/// An exception of the code that was run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeError {
    pub name: String,
    pub value: String,
    pub traceback: Vec<String>,
}

impl fmt::Display for CodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.value)
    }
}

impl std::error::Error for CodeError {}

impl Execution {
    /// Figures and pictures among the results, as bytes of PNG or JPEG files.
    pub fn images(&self) -> Vec<Vec<u8>> {
        let pictures = self.results.iter().filter(|r| r.r#type == "png" || r.r#type == "jpeg");
        pictures.filter_map(|r| STANDARD.decode(r.data.as_str()?).ok()).collect()
    }

    fn add(&mut self, event: ContextEvent) {
        let text = event.data.unwrap_or_default();
        match event.r#type.as_str() {
            "stdout" => self.stdout.push_str(&text),
            "stderr" => self.stderr.push_str(&text),
            "result" => {
                let Some(result) = event.result else { return };
                if result.r#type == "text" {
                    self.text = result.data.as_str().map(Into::into);
                }
                self.results.push(result);
            }
            "error" => {
                self.error = Some(CodeError {
                    name: event.error_name.unwrap_or_default(),
                    value: event.error_value.unwrap_or_default(),
                    traceback: event.traceback.unwrap_or_default(),
                });
            }
            "end" => {
                self.timed_out = event.timed_out.unwrap_or(false);
                self.truncated = event.truncated.unwrap_or(false);
                self.duration = milliseconds(event.execution_time.unwrap_or_default());
            }
            _ => {}
        }
    }
}

fn milliseconds(count: i64) -> Duration {
    Duration::from_millis(u64::try_from(count).unwrap_or(0))
}

/// Code before it runs: `sandbox.run_code("x * 2").await?`.
#[must_use = "code runs when it is awaited"]
pub struct RunCode<'a> {
    sandbox: &'a Sandbox,
    code: String,
    language: String,
    context: Option<String>,
    timeout: Option<i64>,
    tell: [Option<Tell<'a>>; 2],
}

impl Sandbox {
    /// Code in the sandbox's own context of a language, where the variables, imports and functions of earlier calls are;
    /// awaiting it runs it. An exception of the code is no error of the call: see [`Execution::error`].
    pub fn run_code(&self, code: impl Into<String>) -> RunCode<'_> {
        let code = code.into();
        RunCode { sandbox: self, code, language: "python".into(), context: None, timeout: None, tell: [None, None] }
    }
}

impl<'a> RunCode<'a> {
    /// python and javascript keep their variables from one call to the next; typescript, go and bash do not.
    pub fn language(mut self, language: impl Into<String>) -> Self {
        self.language = language.into();
        self
    }

    /// A context of [`crate::ContextManager::create`], instead of the sandbox's own for the language.
    pub fn context(mut self, id: impl Into<String>) -> Self {
        self.context = Some(id.into());
        self
    }

    /// In whole seconds; code that takes longer is interrupted. Only of python and javascript.
    pub fn timeout(mut self, longest: Duration) -> Self {
        self.timeout = Some(whole_seconds(longest));
        self
    }

    /// Gets standard output as it comes; it is also in the result.
    pub fn on_stdout(mut self, tell: impl FnMut(&str) + Send + 'a) -> Self {
        self.tell[0] = Some(Box::new(tell));
        self
    }

    pub fn on_stderr(mut self, tell: impl FnMut(&str) + Send + 'a) -> Self {
        self.tell[1] = Some(Box::new(tell));
        self
    }

    async fn run(mut self) -> Result<Execution> {
        if self.context.is_none() && !WITH_CONTEXTS.contains(&self.language.as_str()) {
            return self.run_snippet().await;
        }
        let options = ContextExecuteStreamOptions { timeout: self.timeout };
        let context = self.context.as_ref().unwrap_or(&self.language); // whose name is that of the sandbox's own
        let mut events = self.sandbox.contexts.execute_stream(context, &self.code, options).await?;
        let mut made = Execution::default();
        while let Some(event) = events.next().await {
            let event = event?;
            self.say(&event.r#type, event.data.as_deref());
            made.add(event);
        }
        Ok(made)
    }

    fn say(&mut self, kind: &str, text: Option<&str>) {
        let which = match kind {
            "stdout" => 0,
            "stderr" => 1,
            _ => return,
        };
        if let (Some(tell), Some(text)) = (&mut self.tell[which], text) {
            tell(text);
        }
    }

    /// Languages without contexts: a fresh interpreter.
    async fn run_snippet(mut self) -> Result<Execution> {
        if self.timeout.is_some() {
            let why = "timeout: only python and javascript take one; run the program with command()";
            return Err(SandboxError::InvalidArgument(why.into()));
        }
        let result = self.sandbox.interpreter.run(&self.code, Some(&self.language)).await?;
        let error = result.error.map(|value| CodeError { name: "Error".into(), value, traceback: Vec::new() });
        self.say("stdout", Some(&result.output));
        let duration = milliseconds(result.execution_time);
        Ok(Execution { stdout: result.output, error, duration, ..Default::default() })
    }
}

impl<'a> IntoFuture for RunCode<'a> {
    type Output = Result<Execution>;
    type IntoFuture = Pending<'a, Execution>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
