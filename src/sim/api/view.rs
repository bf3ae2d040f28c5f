//! Writes objects in the form that the client's `Accept` asks for: whole, metadata only, or rows of a table.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::response::Response;
use futures::stream;
use http::{HeaderValue, StatusCode, header};
use serde_json::json;

use crate::engine::model::time::Timestamp;
use crate::sim::world::kind::Kind;
use crate::sim::world::object::Object;

use super::codec::{Extent, TypeMetaFields, render};
use super::json::{ObjectWriter, object};
use super::request::Query;
use super::status::bytes_response;
use super::table;

/// The approximate size in bytes of the pieces in which a list is sent.
const PIECE: usize = 128 * 1024;

/// An object and the managers of its fields.
#[derive(Clone, Debug)]
pub(super) struct ObjectView {
    pub(super) object: Arc<Object>,
    /// `managedFields`, as JSON text.
    pub(super) managed: Option<Arc<[u8]>>,
}

/// The part of the object that a table's rows carry besides the cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Include {
    None,
    Metadata,
    Object,
}

/// The form in which objects are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Format {
    Objects,
    Metadata,
    Table(Include),
}

impl Format {
    /// The first form in `accept` that is served.
    pub(super) fn of(accept: &str, query: &Query) -> Self {
        for range in accept.split(',') {
            let mut parts = range.split(';').map(str::trim);
            let media = parts.next().unwrap_or_default();
            let form = parts.find_map(|part| part.strip_prefix("as="));
            match (media, form) {
                ("application/json", Some("Table")) => {
                    return Self::Table(match query.get("includeObject") {
                        Some("None") => Include::None,
                        Some("Object") => Include::Object,
                        _ => Include::Metadata,
                    });
                }
                ("application/json", Some("PartialObjectMetadata" | "PartialObjectMetadataList")) => {
                    return Self::Metadata;
                }
                ("application/json" | "*/*", None) => return Self::Objects,
                _ => {}
            }
        }
        Self::Objects
    }
}

/// Writes one object by itself.
pub(super) fn write_one(out: &mut Vec<u8>, view: &ObjectView, format: Format, now: Timestamp, columns: Columns) {
    match format {
        Format::Objects => render(out, &view.object, view.managed.as_deref(), TypeMetaFields::Written, Extent::Full),
        Format::Metadata => {
            render(out, &view.object, view.managed.as_deref(), TypeMetaFields::Written, Extent::Metadata);
        }
        Format::Table(include) => object(out, |o| {
            o.put("kind", "Table");
            o.put("apiVersion", "meta.k8s.io/v1");
            o.put("metadata", &json!({"resourceVersion": view.object.meta.resource_version.to_string()}));
            match columns {
                Columns::Written => table::write_columns(o, view.object.kind()),
                Columns::LeftOut => o.put("columnDefinitions", &json!(null)),
            }
            o.objects("rows", [view], |view, o| row(o, view, include, now));
        }),
    }
}

/// Whether a table has its column definitions. In a watch only the first table has them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Columns {
    Written,
    LeftOut,
}

fn row(o: &mut ObjectWriter<'_>, view: &ObjectView, include: Include, now: Timestamp) {
    o.put("cells", &table::cells(&view.object, now));
    let extent = match include {
        Include::None => return,
        Include::Metadata => Extent::Metadata,
        Include::Object => Extent::Full,
    };
    let mut shown = Vec::with_capacity(1024);
    render(&mut shown, &view.object, view.managed.as_deref(), TypeMetaFields::Written, extent);
    o.put_raw("object", &shown);
}

/// One object as an answer.
pub(super) fn one(code: StatusCode, view: &ObjectView, format: Format, now: Timestamp) -> Response {
    let mut out = Vec::with_capacity(4096);
    write_one(&mut out, view, format, now, Columns::Written);
    bytes_response(code, out)
}

/// A list's own metadata.
#[derive(Clone, Debug, Default)]
pub(super) struct ListMeta {
    pub(super) version: u64,
    /// The continue token of the next page; `None` for the last page.
    pub(super) next: Option<String>,
    pub(super) remaining: Option<usize>,
}

/// A list as an answer. It is sent in pieces, and each piece is made only after the one before has been taken for sending.
pub(super) fn list(kind: Kind, meta: &ListMeta, views: Vec<ObjectView>, format: Format, now: Timestamp) -> Response {
    let mut head = Vec::with_capacity(PIECE + PIECE / 8);
    let key = match format {
        Format::Objects | Format::Metadata => "items",
        Format::Table(_) => "rows",
    };
    object(&mut head, |o| {
        match format {
            Format::Objects => {
                o.put("kind", &format!("{}List", kind.words().kind));
                o.put("apiVersion", kind.api_version());
            }
            Format::Metadata => {
                o.put("kind", "PartialObjectMetadataList");
                o.put("apiVersion", "meta.k8s.io/v1");
            }
            Format::Table(_) => {
                o.put("kind", "Table");
                o.put("apiVersion", "meta.k8s.io/v1");
            }
        }
        o.object("metadata", |o| {
            o.put("resourceVersion", &meta.version.to_string());
            o.put_some("continue", meta.next.as_deref());
            o.put_some("remainingItemCount", meta.remaining);
        });
        if let Format::Table(_) = format {
            table::write_columns(o, kind);
        }
        o.put_raw(key, b"[");
    });
    // Removes the closing `}`: the JSON object stays open until the last piece closes it.
    head.pop();
    let pieces = Pieces { head, views: views.into_iter(), format, now, state: ListPhase::First };
    let body = stream::iter(pieces.map(Ok::<_, std::convert::Infallible>));
    let mut response = Response::new(Body::from_stream(body));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

#[derive(PartialEq, Eq)]
enum ListPhase {
    First,
    Open,
    Closed,
}

struct Pieces {
    head: Vec<u8>,
    views: std::vec::IntoIter<ObjectView>,
    format: Format,
    now: Timestamp,
    state: ListPhase,
}

impl Iterator for Pieces {
    type Item = Bytes;
    fn next(&mut self) -> Option<Bytes> {
        if self.state == ListPhase::Closed {
            return None;
        }
        let mut out = std::mem::take(&mut self.head);
        while out.len() < PIECE {
            let Some(view) = self.views.next() else {
                out.extend_from_slice(b"]}");
                self.state = ListPhase::Closed;
                return Some(out.into());
            };
            if self.state == ListPhase::Open {
                out.push(b',');
            }
            self.state = ListPhase::Open;
            match self.format {
                Format::Objects => {
                    render(&mut out, &view.object, view.managed.as_deref(), TypeMetaFields::LeftOut, Extent::Full);
                }
                Format::Metadata => {
                    render(&mut out, &view.object, view.managed.as_deref(), TypeMetaFields::LeftOut, Extent::Metadata);
                }
                Format::Table(include) => object(&mut out, |o| row(o, &view, include, self.now)),
            }
        }
        self.head.reserve(PIECE + PIECE / 8);
        Some(out.into())
    }
}
