//! Traces: a span for each attempt of a run and for each of its effects, sent by OTLP over HTTP (OpenTelemetry
//! protocol, binary Protobuf) to a collector. Knows nothing of what the spans are about.

use crate::config::Config;
use bytes::Bytes;
use heddle_runtime::TRACE_TARGET;
use opentelemetry::trace::TracerProvider;
use opentelemetry_http::{HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{ExporterBuildError, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use std::time::Duration;
use tokio::runtime::Handle;
use tracing::Subscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::registry::LookupSpan;

/// One request to the collector, with its answer.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(10);

/// Spans on their way to the collector.
pub struct Traces(SdkTracerProvider);

/// Why spans can't be sent.
#[derive(Debug, thiserror::Error)]
pub enum TracesError {
    /// No request can.
    #[error(transparent)]
    Client(#[from] reqwest::Error),
    /// They can't be put into requests.
    #[error(transparent)]
    Exporter(#[from] ExporterBuildError),
}

impl Traces {
    /// To the collector that the settings name, if they do.
    pub fn start(config: &Config, io: Handle) -> Result<Option<Self>, TracesError> {
        let Some(endpoint) = &config.otlp_endpoint else {
            return Ok(None);
        };
        // Fails when a provider was chosen already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().timeout(EXPORT_TIMEOUT).build()?;
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(OnExecutor { client, io })
            .with_endpoint(format!("{}/v1/traces", endpoint.trim_end_matches('/')))
            .with_timeout(EXPORT_TIMEOUT)
            .build()?;
        let resource = Resource::builder()
            .with_service_name("heddle")
            .with_attribute(opentelemetry::KeyValue::new(
                "service.version",
                env!("CARGO_PKG_VERSION"),
            ))
            .build();
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(resource)
            .build();
        Ok(Some(Traces(provider)))
    }

    /// What takes the spans.
    pub fn layer<S: Subscriber + for<'span> LookupSpan<'span>>(&self) -> impl Layer<S> + use<S> {
        tracing_opentelemetry::layer()
            .with_tracer(self.0.tracer("heddle"))
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_tracked_inactivity(false)
            .with_filter(filter_fn(|metadata| metadata.target() == TRACE_TARGET))
    }

    /// Sends what is left.
    pub async fn stop(self) {
        let stopped = tokio::task::spawn_blocking(move || self.0.shutdown()).await;
        if let Ok(Err(error)) = stopped {
            tracing::warn!(%error, "The last spans could not be sent");
        }
    }
}

/// Spans are sent by a thread without an executor.
#[derive(Debug)]
struct OnExecutor {
    client: reqwest::Client,
    io: Handle,
}

#[async_trait::async_trait]
impl HttpClient for OnExecutor {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let client = self.client.clone();
        let sent = self.io.spawn(async move { client.send_bytes(request).await });
        sent.await?
    }
}
