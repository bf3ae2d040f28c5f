//! The lines of a watch and the pages of a list, read in place.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::failure::Failure;
use super::super::http::StatusBody;

/// What a line of a watch says.
#[derive(Debug)]
pub(super) enum WatchLine<T> {
    /// The object is as it is now.
    Applied(T),
    /// The object is gone; this is how it last was.
    Deleted(T),
    /// Everything up to this version was told.
    Bookmark {
        /// Up to which.
        version: String,
        /// Whether it is the one that ends a streaming list.
        ends_listing: bool,
    },
    /// The watch failed.
    Refused(Failure),
    /// Something of a future version.
    Unknown,
}

/// A line, read at once when its type comes first, as servers write it.
#[derive(Deserialize)]
struct Whole<T> {
    object: T,
}

/// A line whose object is read when its type is known.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, rename = "type")]
    kind: std::borrow::Cow<'a, str>,
    #[serde(borrow)]
    object: &'a RawValue,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Mark {
    metadata: MarkMeta,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct MarkMeta {
    resource_version: String,
    annotations: Option<MarkAnnotations>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct MarkAnnotations {
    #[serde(rename = "k8s.io/initial-events-end")]
    ends_listing: Option<String>,
}

/// Reads a line of a watch.
///
/// # Errors
/// When it is not one; the words name what could not be read.
pub(super) fn line<'a, T: Deserialize<'a>>(line: &'a [u8]) -> Result<WatchLine<T>, Failure> {
    let whole = || serde_json::from_slice::<Whole<T>>(line).map(|whole| whole.object);
    if line.starts_with(br#"{"type":"MODIFIED","#) || line.starts_with(br#"{"type":"ADDED","#) {
        return whole().map(WatchLine::Applied).map_err(|error| unreadable("an object of a watch", &error));
    }
    if line.iter().all(u8::is_ascii_whitespace) {
        return Ok(WatchLine::Unknown);
    }
    let envelope: Envelope<'a> =
        serde_json::from_slice(line).map_err(|error| unreadable("a line of a watch", &error))?;
    let object = || serde_json::from_str::<T>(envelope.object.get());
    let read = match &*envelope.kind {
        "ADDED" | "MODIFIED" => object().map(WatchLine::Applied),
        "DELETED" => object().map(WatchLine::Deleted),
        "BOOKMARK" => serde_json::from_str::<Mark>(envelope.object.get()).map(|mark| WatchLine::Bookmark {
            version: mark.metadata.resource_version,
            ends_listing: mark.metadata.annotations.and_then(|annotations| annotations.ends_listing).is_some(),
        }),
        "ERROR" => serde_json::from_str::<StatusBody>(envelope.object.get())
            .map(|refusal| WatchLine::Refused(refusal.into_failure(0, None))),
        _ => Ok(WatchLine::Unknown),
    };
    read.map_err(|error| unreadable("an object of a watch", &error))
}

/// A page of a list.
#[derive(Debug)]
pub(super) struct ListPage<T> {
    pub(super) items: Vec<T>,
    pub(super) end: PageEnd,
}

/// What follows a page.
#[derive(Debug)]
pub(super) struct PageEnd {
    /// The version that the list is of.
    pub(super) version: String,
    /// The token of the next page; empty after the last.
    pub(super) next: String,
}

#[derive(Deserialize)]
struct ListJson<T> {
    #[serde(default)]
    metadata: ListMetaJson,
    items: Option<Vec<T>>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct ListMetaJson {
    resource_version: String,
    r#continue: String,
}

/// Reads a page of a list.
///
/// # Errors
/// When it is not one.
pub(super) fn page<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<ListPage<T>, Failure> {
    let list: ListJson<T> = serde_json::from_slice(body).map_err(|error| unreadable("a list", &error))?;
    let end = PageEnd { version: list.metadata.resource_version, next: list.metadata.r#continue };
    Ok(ListPage { items: list.items.unwrap_or_default(), end })
}

fn unreadable(what: &str, error: &serde_json::Error) -> Failure {
    Failure::Malformed(format!("{what} cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::cluster::clip::MESSAGE;
    use crate::cluster::partial::PodWire;

    fn read(text: &str) -> Result<WatchLine<Value>, Failure> {
        line(text.as_bytes())
    }

    #[test]
    fn reads_every_kind_of_line() {
        let Ok(WatchLine::Applied(object)) = read(r#"{"type":"ADDED","object":{"a":1}}"#) else { panic!() };
        assert_eq!(object["a"], 1);
        assert!(matches!(read(r#"{"type":"MODIFIED","object":{}}"#), Ok(WatchLine::Applied(_))));
        assert!(matches!(read(r#"{"object":{},"type":"ADDED"}"#), Ok(WatchLine::Applied(_))), "in any order");
        assert!(matches!(read(r#"{"type":"DELETED","object":{}}"#), Ok(WatchLine::Deleted(_))));
        assert!(matches!(read(r#"{"type":"TELEPORTED","object":{}}"#), Ok(WatchLine::Unknown)));
        assert!(matches!(read(" "), Ok(WatchLine::Unknown)));
        assert!(read(r#"{"type":"ADDED""#).is_err());
    }

    #[test]
    fn tells_the_bookmark_that_ends_a_listing_from_the_others() {
        let end = r#"{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"123",
            "creationTimestamp":null,"annotations":{"k8s.io/initial-events-end":"true"}}}}"#;
        let Ok(WatchLine::Bookmark { version, ends_listing: true }) = read(end) else { panic!("{:?}", read(end)) };
        assert_eq!(version, "123");
        let plain = r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"124"}}}"#;
        assert!(matches!(read(plain), Ok(WatchLine::Bookmark { ends_listing: false, .. })));
    }

    #[test]
    fn a_410_inside_the_stream_is_an_expiry() {
        let gone = r#"{"type":"ERROR","object":{"kind":"Status","status":"Failure",
            "message":"too old resource version: 5 (900)","reason":"Expired","code":410}}"#;
        let Ok(WatchLine::Refused(failure)) = read(gone) else { panic!() };
        assert!(failure.is_expired());
    }

    /// A failure is shown and logged, and what it says is up to the server.
    #[test]
    fn the_words_of_a_failure_are_bounded() {
        let long = "\u{1b}[31mx".repeat(200_000);
        let error = json!({"type": "ERROR", "object": {"message": &long, "reason": &long, "code": 500}}).to_string();
        let Ok(WatchLine::Refused(refused)) = read(&error) else { panic!() };
        let unreadable = json!({"type": "ADDED", "object": {"metadata": &long}}).to_string();
        let Err(unreadable) = line::<PodWire<'_>>(unreadable.as_bytes()) else { panic!() };
        assert!(unreadable.to_string().contains("cannot be read"));
        for said in [refused.to_string(), unreadable.to_string()] {
            assert!(said.len() <= MESSAGE + 100 && !said.contains('\u{1b}'), "{}", said.len());
        }
    }

    #[test]
    fn a_list_is_read_page_by_page() {
        let list = page::<Value>(br#"{"metadata":{"resourceVersion":"9","continue":"x"},"items":[{},{}]}"#).unwrap();
        assert_eq!((list.items.len(), &*list.end.version, &*list.end.next), (2, "9", "x"));
        assert!(page::<Value>(br#"{"metadata":{"resourceVersion":"9"},"items":null}"#).unwrap().end.next.is_empty());
    }
}
