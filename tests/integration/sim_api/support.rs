//! A server and a client for it.

use std::sync::Arc;
use std::time::Duration;

use reqwest::{Client, Method, Response};
use rolldeck::sim::api::{ApiOptions, Server, Users, serve};
use rolldeck::sim::world::World;
use rolldeck::sim::world::kind::Kind;
use rolldeck::sim::world::object::{Body, Object};
use rolldeck::sim::world::scenario::Scenario;
use rolldeck::sim::world::write::WriteOptions;
use serde_json::{Value, json};

pub(super) const JSON: &str = "application/json";
pub(super) const JSON_PATCH: &str = "application/json-patch+json";
pub(super) const MERGE_PATCH: &str = "application/merge-patch+json";
pub(super) const STRATEGIC_PATCH: &str = "application/strategic-merge-patch+json";
pub(super) const APPLY_PATCH: &str = "application/apply-patch+yaml";

/// A served world without nodes, in which nothing moves by itself, with the namespace `edge`.
pub(super) struct Api {
    pub(super) server: Server,
    http: Client,
}

impl Api {
    pub(super) async fn start() -> Self {
        Self::with(empty_world(), Users::default()).await
    }

    pub(super) async fn with(world: World, users: Users) -> Self {
        Self::over(serve(world, ApiOptions { users, ..ApiOptions::default() }).await.unwrap())
    }

    pub(super) fn over(server: Server) -> Self {
        // The provider is installed already if another test installed it; it is the same one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = Client::builder().no_proxy().build().unwrap();
        Self { server, http }
    }

    pub(super) async fn raw(&self, method: Method, path: &str, headers: &[(&str, &str)], body: Vec<u8>) -> Response {
        self.try_raw(method, path, headers, body).await.unwrap()
    }

    pub(super) async fn try_raw(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Vec<u8>,
    ) -> reqwest::Result<Response> {
        let mut request = self.http.request(method, format!("{}{path}", self.server.url())).body(body);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.send().await
    }

    pub(super) async fn send(&self, method: Method, path: &str, kind: &str, body: &Value) -> (u16, Value) {
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let response = self.raw(method, path, &[("content-type", kind)], body).await;
        let code = response.status().as_u16();
        assert_eq!(response.headers()["content-type"], JSON, "{path}");
        (code, serde_json::from_slice(&response.bytes().await.unwrap()).unwrap())
    }

    pub(super) async fn get(&self, path: &str) -> (u16, Value) {
        self.send(Method::GET, path, JSON, &Value::Null).await
    }

    pub(super) async fn get_as(&self, path: &str, accept: &str) -> Value {
        let response = self.raw(Method::GET, path, &[("accept", accept)], Vec::new()).await;
        assert_eq!(response.status(), 200, "{path}");
        serde_json::from_slice(&response.bytes().await.unwrap()).unwrap()
    }

    pub(super) async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.send(Method::POST, path, JSON, body).await
    }

    pub(super) async fn patch(&self, path: &str, kind: &str, body: &Value) -> (u16, Value) {
        self.send(Method::PATCH, path, kind, body).await
    }

    pub(super) async fn delete(&self, path: &str, options: &Value) -> (u16, Value) {
        self.send(Method::DELETE, path, JSON, options).await
    }

    /// Creates a ConfigMap in `edge`; nobody reads it but the test.
    pub(super) async fn make(&self, name: &str, labels: &Value) -> Value {
        let (code, made) = self.post(MAPS, &json!({"metadata": {"name": name, "labels": labels}})).await;
        assert_eq!(code, 201, "{made}");
        made
    }

    pub(super) async fn watch(&self, path: &str) -> Events {
        let response = self.raw(Method::GET, path, &[], Vec::new()).await;
        assert_eq!(response.status(), 200, "{path}");
        Events { response, buffer: Vec::new() }
    }

    /// The resource version of the whole world.
    pub(super) async fn version(&self) -> u64 {
        let (_, list) = self.get(&format!("{MAPS}?limit=1")).await;
        list["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap()
    }
}

/// ConfigMaps of the namespace that every test world has.
pub(super) const MAPS: &str = "/api/v1/namespaces/edge/configmaps";
pub(super) const DAEMON_SETS: &str = "/apis/apps/v1/namespaces/edge/daemonsets";

pub(super) fn daemon_set(image: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent", "namespace": "edge"},
        "spec": {
            "selector": {"matchLabels": {"app": "agent"}},
            "template": {
                "metadata": {"labels": {"app": "agent"}},
                "spec": {"containers": [
                    {"name": "agent", "image": image, "env": [{"name": "LEVEL", "value": "info"}]},
                    {"name": "sidecar", "image": "registry.example/sidecar:v1"},
                ]},
            },
        },
    })
}

/// The lines of a watch.
pub(super) struct Events {
    response: Response,
    buffer: Vec<u8>,
}

/// The end of a watch.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum End {
    Clean,
    Broken,
}

impl Events {
    pub(super) async fn line(&mut self) -> Result<Value, End> {
        loop {
            if let Some(at) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=at).collect();
                return Ok(serde_json::from_slice(&line).unwrap());
            }
            let chunk = tokio::time::timeout(Duration::from_secs(10), self.response.chunk()).await;
            match chunk.expect("nothing came for ten seconds") {
                Ok(Some(bytes)) => self.buffer.extend_from_slice(&bytes),
                Ok(None) => return Err(End::Clean),
                Err(_) => return Err(End::Broken),
            }
        }
    }

    /// The next event: its type and its object's name.
    pub(super) async fn next(&mut self) -> (String, String) {
        let line = self.line().await.unwrap();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        (text(&line["type"]), text(&line["object"]["metadata"]["name"]))
    }
}

pub(super) fn event(kind: &str, name: &str) -> (String, String) {
    (kind.to_owned(), name.to_owned())
}

/// A world without nodes, with the namespace `edge`.
pub(super) fn empty_world() -> World {
    let mut world = World::new(&Scenario::new("empty"), 1);
    let edge = Object::new("", "edge", Body::Other(Kind::Namespace, Arc::new(json!({}))));
    world.create(edge, WriteOptions::named("test")).unwrap();
    world
}

/// A ConfigMap that is made within the world.
pub(super) fn config_map(name: &str) -> Object {
    Object::new("edge", name, Body::Other(Kind::ConfigMap, Arc::new(Value::Null)))
}
