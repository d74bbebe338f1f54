//! A user's program on the published iii-sdk of crates.io: see scenario.mjs.
use std::collections::HashMap;
use std::error::Error as StdError;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use iii_sdk::channel::{ChannelReader, ChannelWriter};
use iii_sdk::helpers::{create_channel, extract_channel_refs};
use iii_sdk::protocol::TriggerRequest;
use iii_sdk::trigger::{TriggerConfig, TriggerHandler};
use iii_sdk::{Error, IIIClient, InitOptions, RegisterFunction, RegisterTriggerType, TriggerAction, register_worker};
use serde_json::{Value, from_value, json};

type Result<T> = std::result::Result<T, Box<dyn StdError + Send + Sync>>;
type Notes = Arc<Mutex<Vec<Value>>>;

const SIZE: usize = 1 << 20;
static PATTERN: LazyLock<Vec<u8>> = LazyLock::new(|| (0..SIZE).map(|i| ((i * 7 + i / 251) % 256) as u8).collect());

struct Given {
    address: String,
    rest: String,
    listener: String,
    target: String,
    plan: Value,
}

fn connect(url: &str, headers: &[(&str, &str)]) -> IIIClient {
    let headers = headers.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect::<HashMap<_, _>>();
    register_worker(url, InitOptions { headers: Some(headers), ..Default::default() })
}

async fn send(worker: &IIIClient, id: &str, payload: Value, action: Option<TriggerAction>) -> std::result::Result<Value, Error> {
    worker.trigger(TriggerRequest { function_id: id.into(), payload, action, timeout_ms: None }).await
}

async fn call(worker: &IIIClient, id: &str, payload: Value) -> Result<Value> {
    Ok(send(worker, id, payload, None).await?)
}

/// The result, or {code} of the error.
async fn outcome(worker: &IIIClient, id: &str, payload: Value) -> Value {
    match send(worker, id, payload, None).await {
        Ok(value) => value,
        Err(Error::Remote { code, .. }) => json!({ "code": code }),
        Err(other) => json!({ "code": other.to_string() }),
    }
}

async fn listed(worker: &IIIClient) -> Result<Vec<Value>> {
    let answer = call(worker, "engine::functions::list", json!({ "prefix": "sdk::" })).await?;
    Ok(answer["functions"].as_array().ok_or("no list")?.iter().map(|one| one["function_id"].clone()).collect())
}

/// Messages of one connection are handled in order: its registrations are known after an answer.
async fn registered(worker: &IIIClient) -> Result<()> {
    call(worker, "engine::workers::list", json!({})).await.map(|_| ())
}

async fn until(notes: &Notes, n: usize) -> Result<Vec<Value>> {
    for _ in 0..600 {
        if notes.lock().unwrap().len() >= n {
            return Ok(notes.lock().unwrap().clone());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Err("waited in vain".into())
}

async fn carry_out(worker: &IIIClient, given: &Given, name: &str) -> Result<Value> {
    let mut results = Vec::new();
    for one in given.plan[name].as_array().ok_or("no plan")? {
        results.push(outcome(worker, one[0].as_str().ok_or("no id")?, one[1].clone()).await);
    }
    Ok(json!(results))
}

/// A function that notes its input and answers with what `answer` makes of it.
fn noting(notes: &Notes, answer: fn(&Value) -> Value) -> RegisterFunction {
    let notes = notes.clone();
    RegisterFunction::new_async(move |data: Value| {
        let notes = notes.clone();
        async move {
            let made = answer(&data);
            notes.lock().unwrap().push(data);
            Ok::<Value, Error>(made)
        }
    })
}

fn answering(answer: fn(&Value) -> Value) -> RegisterFunction {
    noting(&Notes::default(), answer)
}

async fn functions(a: &IIIClient, b: &IIIClient) -> Result<Value> {
    a.register_function("sdk::add", answering(|data| {
        json!({ "sum": data["x"].as_i64().unwrap() + data["y"].as_i64().unwrap(), "caller": data["_caller_worker_id"].is_string() })
    }));
    a.register_function("sdk::throws", RegisterFunction::new_async(|_: Value| async { Err::<Value, _>(Error::Handler("on purpose".into())) }));
    a.register_function("sdk::gone", answering(|_| json!(1))).unregister();
    registered(a).await?;
    Ok(json!({
        "add": call(b, "sdk::add", json!({ "x": 2, "y": 3 })).await?,
        "throws": outcome(b, "sdk::throws", json!({})).await,
        "gone": outcome(b, "sdk::gone", json!({})).await,
        "listed": listed(b).await?,
    }))
}

async fn queues(a: &IIIClient, b: &IIIClient) -> Result<Value> {
    let notes = Notes::default();
    a.register_function("sdk::note", noting(&notes, |_| Value::Null));
    registered(a).await?;
    send(b, "sdk::note", json!({ "n": 1 }), Some(TriggerAction::Void)).await?;
    let receipt = send(b, "sdk::note", json!({ "n": 2 }), Some(TriggerAction::Enqueue { queue: "sdk".into() })).await?;
    let mut seen: Vec<_> = until(&notes, 2).await?.iter().map(|one| one["n"].as_i64()).collect();
    seen.sort_unstable();
    Ok(json!({ "receipt": receipt["messageReceiptId"].is_string(), "seen": seen }))
}

async fn streams(a: &IIIClient, b: &IIIClient, given: &Given) -> Result<Value> {
    a.register_function("stream::get(sdk-mine)", answering(|data| json!({ "mine": data["item_id"] })));
    a.register_function("stream::set(sdk-mine)", answering(|data| json!({ "new_value": data["data"] })));
    registered(a).await?;
    carry_out(b, given, "streams").await
}

struct Provider(Notes);

#[async_trait]
impl TriggerHandler for Provider {
    async fn register_trigger(&self, config: TriggerConfig) -> std::result::Result<(), Error> {
        self.0.lock().unwrap().push(json!(config.id));
        Ok(())
    }
    async fn unregister_trigger(&self, _: TriggerConfig) -> std::result::Result<(), Error> {
        Ok(())
    }
}

async fn triggers(a: &IIIClient, b: &IIIClient, given: &Given) -> Result<Value> {
    let (bound, heard) = (Notes::default(), Notes::default());
    let bind = |kind: &str, id: &str, config: Value| -> Result<_> {
        Ok(b.register_trigger(from_value(json!({ "trigger_type": kind, "function_id": id, "config": config }))?)?)
    };
    a.register_trigger_type(RegisterTriggerType::new("sdk::type", "custom", Provider(bound.clone())));
    b.register_function("sdk::heard", noting(&heard, |_| Value::Null));
    let trigger = bind("sdk::type", "sdk::heard", json!({ "a": 1 }))?;
    until(&bound, 1).await?;
    trigger.unregister();
    let left = call(b, "engine::registered-triggers::list", json!({ "function_id": "sdk::heard" })).await?;
    bind("subscribe", "sdk::heard", json!({ "topic": "sdk" }))?;
    bind("state", "sdk::heard", json!({ "scope": "sdk-heard" }))?;
    bind("stream", "sdk::heard", json!({ "stream_name": "sdk-heard" }))?;
    b.register_function("sdk::page", answering(|request| {
        json!({ "status_code": 201, "body": { "hello": request["path_params"]["name"], "got": request["body"] } })
    }));
    bind("http", "sdk::page", json!({ "api_path": "/sdk/:name", "http_method": "POST" }))?;
    registered(b).await?;
    call(a, "publish", json!({ "topic": "sdk", "data": { "hot": true } })).await?;
    until(&heard, 1).await?;
    call(a, "state::set", json!({ "scope": "sdk-heard", "key": "k", "value": 1 })).await?;
    until(&heard, 2).await?;
    call(a, "stream::set", json!({ "stream_name": "sdk-heard", "group_id": "g", "item_id": "i", "data": 1 })).await?;
    let heard = until(&heard, 3).await?;
    let answer = reqwest::Client::new().post(format!("{}/sdk/you", given.rest)).json(&json!({ "n": 1 })).send().await?;
    Ok(json!({
        "left": left["registered_triggers"],
        "topic": heard[0],
        "state": heard[1]["event_type"],
        "stream": heard[2]["event"],
        "status": answer.status().as_u16(),
        "page": answer.json::<Value>().await?,
    }))
}

async fn channels(a: &IIIClient, b: &IIIClient, given: &Given) -> Result<Value> {
    let here = given.address.clone();
    a.register_function("sdk::swallow", RegisterFunction::new_async(move |data: Value| {
        let here = here.clone();
        async move {
            let (_, input) = extract_channel_refs(&data).remove(0);
            Ok::<Value, Error>(json!(ChannelReader::new(&here, &input).read_all().await? == *PATTERN))
        }
    }));
    let here = given.address.clone();
    a.register_function("sdk::emit", RegisterFunction::new_async(move |data: Value| {
        let here = here.clone();
        async move {
            let (_, output) = extract_channel_refs(&data).remove(0);
            let writer = ChannelWriter::new(&here, &output);
            writer.send_message("first").await?;
            writer.write(&PATTERN).await?;
            writer.close().await?;
            Ok::<Value, Error>(json!(true))
        }
    }));
    registered(a).await?;
    let (up, down, texts) = (create_channel(b, None).await?, create_channel(b, None).await?, Notes::default());
    let (swallowed, written) = tokio::join!(call(b, "sdk::swallow", json!({ "input": up.reader_ref })), async {
        up.writer.write(&PATTERN).await?;
        up.writer.close().await
    });
    written?;
    let noted = texts.clone();
    down.reader.on_message(move |text| noted.lock().unwrap().push(json!(text))).await;
    let (emitted, got) = tokio::join!(call(b, "sdk::emit", json!({ "output": down.writer_ref })), down.reader.read_all());
    Ok(json!({ "up": swallowed?, "emitted": emitted?, "down": got? == *PATTERN, "texts": *texts.lock().unwrap() }))
}

async fn http(a: &IIIClient, b: &IIIClient, given: &Given) -> Result<Value> {
    let url = format!("{}/remote?a=1", given.target);
    let invoked = |invocation: Value| -> Result<_> { Ok(RegisterFunction::http(from_value(invocation)?)) };
    let remote = a.register_function("sdk::remote", invoked(json!({ "url": url, "method": "PUT", "headers": { "X-Mine": "sdk" } }))?);
    a.register_function("sdk::closed", invoked(json!({ "url": "http://127.0.0.1:1/" }))?);
    registered(a).await?;
    let answer = call(b, "sdk::remote", json!({ "n": 1 })).await?;
    let closed = outcome(b, "sdk::closed", json!({})).await;
    let is_listed = listed(b).await?.contains(&json!("sdk::remote"));
    remote.unregister();
    registered(a).await?;
    Ok(json!({ "answer": answer, "closed": closed, "listed": is_listed, "gone": outcome(b, "sdk::remote", json!({})).await }))
}

async fn rbac(a: &IIIClient, given: &Given) -> Result<Value> {
    let (asked, hooked) = (Notes::default(), Notes::default());
    a.register_function("sdk::auth", noting(&asked, |data| {
        json!({ "allowed_functions": ["sdk::add", "engine::functions::list"], "function_registration_prefix": "acme",
                "context": { "tenant": data["headers"]["x-tenant"] } })
    }));
    a.register_function("sdk::on_function", noting(&hooked, |_| json!({})));
    registered(a).await?;
    let c = connect(&given.listener, &[("X-Tenant", "acme")]);
    c.register_function("guest::one", answering(|_| json!({ "from": "guest" })));
    let add = call(&c, "sdk::add", json!({ "x": 1, "y": 1 })).await?;
    let denied = outcome(&c, "sdk::note", json!({})).await;
    let visible = listed(&c).await?;
    let prefixed = call(a, "acme::guest::one", json!({})).await?;
    c.shutdown_async().await;
    let asked: Vec<_> = asked.lock().unwrap().iter().map(|one| one["headers"]["x-tenant"].clone()).collect();
    let hooked: Vec<_> = hooked.lock().unwrap().iter().flat_map(|one| [one["function_id"].clone(), one["context"]["tenant"].clone()]).collect();
    Ok(json!({ "add": add, "denied": denied, "listed": visible, "prefixed": prefixed, "asked": asked, "hooked": hooked }))
}

#[tokio::main]
async fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let mut next = || words.next().ok_or("an argument is missing");
    let given = Given { address: next()?, rest: next()?, listener: next()?, target: next()?, plan: serde_json::from_str(&next()?)? };
    let (a, b) = (connect(&given.address, &[]), connect(&given.address, &[]));
    for name in ["functions", "queues", "state", "streams", "triggers", "channels", "http", "rbac"] {
        let result = match name {
            "functions" => functions(&a, &b).await,
            "queues" => queues(&a, &b).await,
            "streams" => streams(&a, &b, &given).await,
            "triggers" => triggers(&a, &b, &given).await,
            "channels" => channels(&a, &b, &given).await,
            "http" => http(&a, &b, &given).await,
            "rbac" => rbac(&a, &given).await,
            _ => carry_out(&b, &given, name).await,
        };
        println!("{}", json!({ name: result.unwrap_or_else(|error| json!({ "failed": error.to_string() })) }));
    }
    b.shutdown_async().await;
    a.shutdown_async().await;
    Ok(())
}
