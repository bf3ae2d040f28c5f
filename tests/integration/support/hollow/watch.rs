//! Follows objects by one list or watch after the other, for as long as somebody listens.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio::sync::mpsc::Sender;

use super::client::{Client, ClientError, unreadable};
use super::partial::{PartialList, PartialMeta};

/// The number of objects in a page.
const PAGE: u32 = 500;
/// How long a server should keep a watch open.
const WATCH_SECS: u32 = 240;
/// The wait after a failure: it doubles from the first value to the second.
const BACK_OFF: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(5));

/// The news of a list or a watch.
#[derive(Debug)]
pub(super) enum WatchNews<T> {
    /// All objects that exist.
    Listed(Vec<T>),
    /// The object exists, in this state.
    Is(T),
    /// The object is gone.
    Gone(T),
}

#[derive(Deserialize)]
struct EventLine<'a> {
    r#type: &'a str,
    #[serde(borrow)]
    object: &'a RawValue,
}

#[derive(Deserialize)]
struct Bookmark {
    metadata: PartialMeta,
}

#[derive(Deserialize)]
struct WatchFailure {
    code: Option<u16>,
    message: Option<String>,
}

/// The receiver is closed: nobody listens any more.
struct Deaf;

/// Sends all objects at `path`, whose query may select some, and then their changes, until the receiver is closed.
pub(super) async fn follow<T: DeserializeOwned>(client: Arc<Client>, path: String, tell: Sender<WatchNews<T>>) {
    let mut back_off = BACK_OFF.0;
    let mut from = None;
    loop {
        let outcome = match from.take() {
            None => list(&client, &path, &tell).await,
            Some(version) => watch(&client, &path, version, &tell).await,
        };
        match outcome {
            Err(Deaf) => return,
            Ok(Ok(version)) => {
                from = Some(version);
                back_off = BACK_OFF.0;
            }
            Ok(Err((version, trouble))) => {
                from = version.filter(|_| !matches!(trouble, ClientError::Expired));
                tokio::time::sleep(back_off).await;
                back_off = (back_off * 2).min(BACK_OFF.1);
            }
        }
    }
}

/// The version to go on from; or else the error, with the version from which to try again.
type Leg = Result<Result<String, (Option<String>, ClientError)>, Deaf>;

async fn list<T: DeserializeOwned>(client: &Client, path: &str, tell: &Sender<WatchNews<T>>) -> Leg {
    let (mut items, mut next) = (Vec::new(), String::new());
    loop {
        let page = format!("{path}{}limit={PAGE}&continue={next}", separator(path));
        let page: PartialList<T> = match client.get(&page).await {
            Ok(page) => page,
            Err(trouble) => return Ok(Err((None, trouble))),
        };
        items.extend(page.items.unwrap_or_default());
        if page.metadata.r#continue.is_empty() {
            tell.send(WatchNews::Listed(items)).await.map_err(|_closed| Deaf)?;
            return Ok(Ok(page.metadata.resource_version));
        }
        next = page.metadata.r#continue;
    }
}

async fn watch<T: DeserializeOwned>(
    client: &Client,
    path: &str,
    mut version: String,
    tell: &Sender<WatchNews<T>>,
) -> Leg {
    let query = format!("watch=1&allowWatchBookmarks=true&timeoutSeconds={WATCH_SECS}&resourceVersion={version}");
    let mut lines = match client.lines(&format!("{path}{}{query}", separator(path))).await {
        Ok(lines) => lines,
        Err(trouble) => return Ok(Err((Some(version), trouble))),
    };
    loop {
        let line = match lines.next().await {
            Ok(Some(line)) => line,
            Ok(None) => return Ok(Ok(version)),
            Err(trouble) => return Ok(Err((Some(version), trouble))),
        };
        match read(path, &line) {
            Ok((at, news)) => {
                version = at;
                if let Some(news) = news {
                    tell.send(news).await.map_err(|_closed| Deaf)?;
                }
            }
            Err(trouble) => return Ok(Err((Some(version), trouble))),
        }
    }
}

/// Reads one line of a watch: the version that it leads to, and its news.
fn read<T: DeserializeOwned>(path: &str, line: &[u8]) -> Result<(String, Option<WatchNews<T>>), ClientError> {
    let cannot = |error: serde_json::Error| unreadable(path, &error);
    let line: EventLine<'_> = serde_json::from_slice(line).map_err(cannot)?;
    let text = line.object.get();
    if line.r#type == "ERROR" {
        let failure: WatchFailure = serde_json::from_str(text).map_err(cannot)?;
        return Err(match failure.code {
            Some(410) => ClientError::Expired,
            _ => ClientError::Later { after: None, why: failure.message.unwrap_or_default() },
        });
    }
    let version = serde_json::from_str::<Bookmark>(text).map_err(cannot)?.metadata.resource_version;
    let object = || serde_json::from_str(text).map_err(cannot);
    let news = match line.r#type {
        "ADDED" | "MODIFIED" => Some(WatchNews::Is(object()?)),
        "DELETED" => Some(WatchNews::Gone(object()?)),
        _ => None,
    };
    Ok((version, news))
}

fn separator(path: &str) -> char {
    if path.contains('?') { '&' } else { '?' }
}

#[cfg(test)]
mod tests {
    use super::super::partial::PartialNode;
    use super::*;

    #[test]
    fn lines_of_a_watch_are_told_apart() {
        let line = |kind: &str| {
            format!(r#"{{"type":"{kind}","object":{{"metadata":{{"name":"n1","resourceVersion":"42"}},"code":410}}}}"#)
        };
        let read = |kind: &str| read::<PartialNode>("/api/v1/nodes", line(kind).as_bytes());
        assert!(
            matches!(read("ADDED"), Ok((at, Some(WatchNews::Is(node)))) if at == "42" && &*node.metadata.name == "n1")
        );
        assert!(matches!(read("DELETED"), Ok((_, Some(WatchNews::Gone(_))))));
        assert!(matches!(read("BOOKMARK"), Ok((at, None)) if at == "42"));
        assert!(matches!(read("ERROR"), Err(ClientError::Expired)));
        assert!(matches!(super::read::<PartialNode>("/api/v1/nodes", b"<html>"), Err(ClientError::Later { .. })));
    }
}
