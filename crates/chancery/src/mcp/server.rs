//! The protocol's methods, answered from what the runtime offers.
//!
//! Every request that is dispatched leaves the flight when it is done, however it ends.

use std::sync::Arc;

use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, ClientNotification, ClientRequest,
    Implementation, InitializeRequestParams, InitializeResult, ListResourceTemplatesResult,
    ListToolsResult, PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, RequestId, ServerCapabilities, ServerConfig,
    ServerResult, Tool,
};
use rmcp::service::{NotificationContext, RequestContext, Service};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use tokio::sync::{Semaphore, mpsc};
use wire::{Code, Error};

use super::flight::Flight;
use super::{CALLS, Calls, artifacts, listing, message};

/// How long a client may keep the list of tools, milliseconds. A session's tools never change (R3).
const LIST_TTL_MS: u64 = 300_000;

/// What every method may use.
pub(super) struct Methods {
    /// The runtime.
    pub(super) calls: Arc<dyn Calls>,
    /// The writer.
    pub(super) out: mpsc::Sender<String>,
    /// The requests in flight.
    pub(super) flight: Arc<Flight>,
    /// Places for calls that run.
    pub(super) places: Semaphore,
    /// What stands for this connection in call ids.
    pub(super) connection: String,
    tools: Vec<Tool>,
    instructions: String,
}

/// The service that rmcp drives.
pub(super) struct Door {
    methods: Methods,
}

impl Door {
    /// Asks the runtime once for everything that does not change.
    pub(super) fn new(
        calls: Arc<dyn Calls>,
        out: mpsc::Sender<String>,
        flight: Arc<Flight>,
    ) -> Door {
        let tools = calls.contracts().iter().map(listing::tool).collect();
        let instructions = calls.instructions();
        let connection = uuid::Uuid::now_v7().to_string();
        let places = Semaphore::new(CALLS);
        Door { methods: Methods { calls, out, flight, places, connection, tools, instructions } }
    }
}

/// Lets a request go when its handling ends.
struct Seat<'a> {
    flight: &'a Flight,
    id: RequestId,
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        self.flight.leave(&self.id);
    }
}

impl Service<RoleServer> for Door {
    async fn handle_request(
        &self,
        request: ClientRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        let _seat = Seat { flight: &self.methods.flight, id: context.id.clone() };
        self.methods.handle_request(request, context).await
    }

    async fn handle_notification(
        &self,
        notification: ClientNotification,
        context: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.methods.handle_notification(notification, context).await
    }

    fn get_info(&self) -> ServerConfig {
        ServerHandler::get_info(&self.methods)
    }
}

impl ServerHandler for Methods {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().build();
        let server = Implementation::new("chancery", env!("CARGO_PKG_VERSION"))
            .with_title("Chancery")
            .with_description("The tool runtime for coding agents");
        ServerConfig::new(capabilities)
            .with_server_info(server)
            .with_instructions(self.instructions.clone())
    }

    /// The version is agreed here and kept for the connection; a request that names its own overrides it.
    async fn initialize(
        &self,
        mut request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let agreed = self.negotiate_initialize(&request)?;
        request.protocol_version = agreed.protocol_version.clone();
        context.peer.set_peer_info(request);
        Ok(agreed)
    }

    async fn list_tools(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        only_page(page)?;
        let list = ListToolsResult::with_all_items(self.tools.clone());
        let modern = context
            .protocol_version()
            .is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str());
        Ok(if modern {
            list.with_ttl_ms(LIST_TTL_MS).with_cache_scope(CacheScope::Private)
        } else {
            list
        })
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.call(params, context).await.map(CallToolResponse::Complete)
    }

    async fn list_resource_templates(
        &self,
        page: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        only_page(page)?;
        Ok(ListResourceTemplatesResult::with_all_items(vec![artifacts::template()]))
    }

    async fn read_resource(
        &self,
        params: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = params.uri;
        let asked = artifacts::asked(&uri)?;
        let calls = self.calls.clone();
        let read = tokio::task::spawn_blocking(move || {
            let one_more = artifacts::PIECE_BYTES as u64 + 1;
            let found = calls.read_artifact(&asked.digest, asked.start_byte, one_more)?;
            let piece = found.map(|found| artifacts::piece(&uri, &asked, found));
            Ok::<_, Error>(piece.map(|piece| ReadResourceResult::new(vec![piece])))
        });
        match read.await {
            Ok(Ok(Some(result))) => Ok(ReadResourceResponse::Complete(result)),
            Ok(Err(error)) => {
                Err(ErrorData::internal_error(error.message.clone(), Some(message::data(&error))))
            }
            Ok(Ok(None)) => {
                let error =
                    Error::new(Code::NotFound, "there is no such artifact").at("/params/uri");
                Err(ErrorData::resource_not_found(
                    error.message.clone(),
                    Some(message::data(&error)),
                ))
            }
            Err(_) => Err(defect("reading the artifact ended in a defect of the runtime")),
        }
    }
}

/// An error that is nobody's fault but the runtime's.
pub(super) fn defect(message: &'static str) -> ErrorData {
    let error = Error::new(Code::Internal, message);
    ErrorData::internal_error(message, Some(message::data(&error)))
}

/// Every list is one page, so there is no cursor that could be right.
fn only_page(page: Option<PaginatedRequestParams>) -> Result<(), ErrorData> {
    if page.is_none_or(|page| page.cursor.is_none()) {
        return Ok(());
    }
    let error = Error::new(Code::ContinuationMismatch, "the list has one page; leave `cursor` out")
        .at("/params/cursor");
    Err(ErrorData::invalid_params(error.message.clone(), Some(message::data(&error))))
}
