//! The lines of a watch and the pages of a list, read in place.
//!
//! If an object cannot be read, its line or page still can: at least its identity and version are read.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::clip::clip;
use super::super::failure::Failure;
use super::super::http::StatusBody;

/// The content of a line of a watch.
#[derive(Debug)]
pub(super) enum WatchLine<T> {
    /// The object exists with this content.
    Applied(T),
    /// The object is gone; this is its last content.
    Deleted(T),
    /// As `Applied`, but the object's content cannot be read.
    Unreadable(UnreadableObject),
    /// As `Deleted`, but the object's content cannot be read.
    UnreadableDeleted(UnreadableObject),
    /// All changes up to this version were sent.
    Bookmark {
        /// The version.
        version: String,
        /// Whether this bookmark ends a streaming list.
        ends_listing: bool,
    },
    /// The watch failed.
    Refused(Failure),
    /// A line type of a future version.
    Unknown,
}

/// The known facts about an object that cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct UnreadableObject {
    /// `namespace/name`, or the name alone; empty if the object has none.
    pub(super) key: String,
    /// Its resource version; empty if the object has none.
    pub(super) version: String,
    /// Its identity alone, as JSON of the object.
    pub(super) identity: String,
    /// The part that could not be read, and the reason.
    pub(super) why: String,
}

impl UnreadableObject {
    /// Describes an object that cannot be read for the reason `why`.
    pub(super) fn new(object: &RawValue, why: &str) -> Self {
        let metadata = serde_json::from_str::<MetadataOnly>(object.get()).unwrap_or_default().metadata;
        let text = |field: &str| metadata[field].as_str().unwrap_or_default();
        let (namespace, name, version) = (text("namespace"), text("name"), text("resourceVersion"));
        let key = if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") };
        let identity = serde_json::json!({"metadata": {
            "namespace": namespace, "name": name, "uid": text("uid"), "resourceVersion": version,
        }});
        Self { key: clipped(&key), version: version.to_owned(), identity: identity.to_string(), why: clipped(why) }
    }
}

/// Names have up to 253 bytes, and an error may quote a value of any length.
fn clipped(text: &str) -> String {
    clip(text, 512).into_owned()
}

#[derive(Deserialize, Default)]
struct MetadataOnly {
    metadata: Value,
}

/// The object of a line.
///
/// # Errors
/// When the line has no object.
pub(super) fn object_of(line: &[u8]) -> Result<&RawValue, Failure> {
    let whole: Result<Whole<&RawValue>, _> = serde_json::from_slice(line);
    whole.map(|whole| whole.object).map_err(|error| unreadable("a line of a watch", &error))
}

/// A line whose type comes first, as servers write it, so that it is read in one step.
#[derive(Deserialize)]
struct Whole<T> {
    object: T,
}

/// A line whose object is read once its type is known.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, rename = "type")]
    kind: std::borrow::Cow<'a, str>,
    #[serde(borrow)]
    object: &'a RawValue,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct WatchBookmark {
    metadata: WatchBookmarkMeta,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct WatchBookmarkMeta {
    resource_version: String,
    annotations: Option<WatchBookmarkAnnotations>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct WatchBookmarkAnnotations {
    #[serde(rename = "k8s.io/initial-events-end")]
    ends_listing: Option<String>,
}

/// Reads a line of a watch.
///
/// # Errors
/// When the line is not one of a watch, or its object has no known identity. The error names the part that could not be read.
pub(super) fn line<'a, T: Deserialize<'a>>(line: &'a [u8]) -> Result<WatchLine<T>, Failure> {
    if (line.starts_with(br#"{"type":"MODIFIED","#) || line.starts_with(br#"{"type":"ADDED","#))
        && let Ok(Whole { object }) = serde_json::from_slice::<Whole<T>>(line)
    {
        return Ok(WatchLine::Applied(object));
    }
    if line.iter().all(u8::is_ascii_whitespace) {
        return Ok(WatchLine::Unknown);
    }
    let Envelope { kind, object } =
        serde_json::from_slice(line).map_err(|error| unreadable("a line of a watch", &error))?;
    let read = || serde_json::from_str::<T>(object.get());
    let unread = |error: serde_json::Error| UnreadableObject::new(object, &error.to_string());
    Ok(match &*kind {
        "ADDED" | "MODIFIED" => read().map_or_else(|error| WatchLine::Unreadable(unread(error)), WatchLine::Applied),
        "DELETED" => read().map_or_else(|error| WatchLine::UnreadableDeleted(unread(error)), WatchLine::Deleted),
        "BOOKMARK" => {
            let WatchBookmark { metadata } = known(object, "a bookmark of a watch")?;
            let ends_listing = metadata.annotations.and_then(|annotations| annotations.ends_listing).is_some();
            WatchLine::Bookmark { version: metadata.resource_version, ends_listing }
        }
        "ERROR" => WatchLine::Refused(known::<StatusBody>(object, "an error in a watch")?.into_failure(0, None)),
        _ => WatchLine::Unknown,
    })
}

fn known<'a, T: Deserialize<'a>>(object: &'a RawValue, what: &str) -> Result<T, Failure> {
    serde_json::from_str(object.get()).map_err(|error| unreadable(what, &error))
}

/// A page of a list. Its objects are parsed one by one: parsed together they would take as much memory as the page itself.
#[derive(Debug)]
pub(super) struct ListPage<'a> {
    pub(super) objects: Vec<&'a RawValue>,
    pub(super) end: PageEnd,
}

/// The end of a page.
#[derive(Debug)]
pub(super) struct PageEnd {
    /// The version of the list.
    pub(super) version: String,
    /// The token of the next page; empty after the last.
    pub(super) next: String,
}

#[derive(Deserialize)]
struct ListJson<'a> {
    #[serde(default)]
    metadata: ListMetaJson,
    #[serde(borrow)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct ListMetaJson {
    resource_version: String,
    r#continue: String,
}

/// Reads a page of a list without the content of its objects.
///
/// # Errors
/// When `body` is not a list.
pub(super) fn page(body: &[u8]) -> Result<ListPage<'_>, Failure> {
    let ListJson { metadata, items } = serde_json::from_slice(body).map_err(|error| unreadable("a list", &error))?;
    Ok(ListPage { objects: items.unwrap_or_default(), end: metadata.end() })
}

/// Reads an object of a page.
///
/// # Errors
/// The known facts about an object that cannot be read.
pub(super) fn object<'a, T: Deserialize<'a>>(object: &'a RawValue) -> Result<T, UnreadableObject> {
    serde_json::from_str(object.get()).map_err(|error| UnreadableObject::new(object, &error.to_string()))
}

impl ListMetaJson {
    fn end(self) -> PageEnd {
        PageEnd { version: self.resource_version, next: self.r#continue }
    }
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

    /// An object with a number in it, and nothing else that is read.
    #[derive(Deserialize, Debug)]
    struct Numbered {
        number: u8,
    }

    const BAD: &str = r#"{"metadata":{"namespace":"edge","name":"a","uid":"u","resourceVersion":"7"},"number":"five"}"#;

    #[test]
    fn an_object_that_cannot_be_read_is_named_and_spoils_nothing_else() {
        for kind in ["ADDED", "MODIFIED"] {
            let text = format!(r#"{{"type":"{kind}","object":{BAD}}}"#);
            let Ok(WatchLine::Unreadable(object)) = line::<Numbered>(text.as_bytes()) else { panic!("{kind}") };
            assert_eq!((&*object.key, &*object.version), ("edge/a", "7"));
            assert!(object.why.contains("five"), "{}", object.why);
        }
        let text = format!(r#"{{"type":"DELETED","object":{BAD}}}"#);
        let Ok(WatchLine::UnreadableDeleted(object)) = line::<Numbered>(text.as_bytes()) else { panic!() };
        let identity: Value = serde_json::from_str(&object.identity).unwrap();
        assert_eq!(identity["metadata"]["uid"], "u");
        let without = line::<Numbered>(br#"{"type":"ADDED","object":{"metadata":[],"number":"five"}}"#);
        assert!(matches!(&without, Ok(WatchLine::Unreadable(object)) if object.key.is_empty()), "{without:?}");

        let list = format!(r#"{{"metadata":{{"resourceVersion":"9"}},"items":[{{"number":1}},{BAD},{{"number":2}}]}}"#);
        let page = page(list.as_bytes()).unwrap();
        let read: Vec<Result<Numbered, _>> = page.objects.into_iter().map(super::object).collect();
        let numbers = read.iter().map(|read| read.as_ref().map(|item| item.number).map_err(|bad| &*bad.key));
        assert_eq!(numbers.collect::<Vec<_>>(), [Ok(1), Err("edge/a"), Ok(2)]);
        assert_eq!(page.end.version, "9");
    }

    #[test]
    fn an_error_that_quotes_a_megabyte_is_clipped() {
        let long = "x".repeat(1 << 20);
        let text = format!(r#"{{"type":"ADDED","object":{{"metadata":{{"name":"{long}"}},"number":"{long}"}}}}"#);
        let Ok(WatchLine::Unreadable(object)) = line::<Numbered>(text.as_bytes()) else { panic!() };
        assert!(object.why.len() <= 512 && object.key.len() <= 512);
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
        let Ok(WatchLine::Unreadable(unreadable)) = line::<PodWire<'_>>(unreadable.as_bytes()) else { panic!() };
        let named = json!({"type": "ADDED", "object": {"metadata": {"name": &long}, "spec": 7}}).to_string();
        let Ok(WatchLine::Unreadable(named)) = line::<PodWire<'_>>(named.as_bytes()) else { panic!() };
        for said in [refused.to_string(), unreadable.why, named.key] {
            assert!(said.len() <= MESSAGE + 100 && !said.contains('\u{1b}'), "{}", said.len());
        }
    }

    #[test]
    fn a_list_is_read_page_by_page() {
        let list = page(br#"{"metadata":{"resourceVersion":"9","continue":"x"},"items":[{},{}]}"#).unwrap();
        assert_eq!((list.objects.len(), &*list.end.version, &*list.end.next), (2, "9", "x"));
        assert!(page(br#"{"metadata":{"resourceVersion":"9"},"items":null}"#).unwrap().end.next.is_empty());
    }
}
