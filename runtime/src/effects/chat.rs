//! `chat`: a chat completion as OpenAI's API defines it. Request: `{connection, body, timeoutMs?, idempotencyKey?}`;
//! result as of `http`. The connection has `apiKey` and may have `baseUrl` and `organization`.

use super::effect::{Effect, Reveals};
use super::http::{Http, HttpNeeds, Post, destination, url_of};
use super::requests::{opened, read};
use heddle_sandbox::EffectError;
use serde::Deserialize;
use serde_json::Value;

/// Where connections without a `baseUrl` go.
const BASE_URL: &str = "https://api.openai.com/v1";

const PATH: &str = "chat/completions";

/// The effect; it sends by the `http` effect.
pub struct Chat(pub Http);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    body: Value,
    #[serde(default)]
    timeout_ms: Option<f64>,
    #[serde(default)]
    idempotency_key: Option<String>,
}

impl Effect for Chat {
    const KIND: &'static str = "chat";
    const REVEALS: Reveals = Reveals::ToHost;

    type Needs = HttpNeeds;
    type Output = Value;

    fn start(
        &self,
        request: Value,
        context: Self::Needs,
    ) -> impl Future<Output = Result<Value, EffectError>> + Send + 'static {
        let http = self.0.clone();
        async move {
            let mut connection = opened(&request, &context.connections).await?;
            connection
                .fields
                .entry("baseUrl")
                .or_insert_with(|| BASE_URL.into());
            let address = url_of(PATH, None, Some(&connection))?;
            let request: Request = read(context.vault.reveal(request, destination(&address.url))?)?;
            let mut headers = vec![("content-type".to_owned(), "application/json".to_owned())];
            if let Some(organization) = connection.text(&["organization"]) {
                headers.push(("openai-organization".to_owned(), organization));
            }
            let post = Post {
                path: PATH,
                headers,
                body: request.body.to_string(),
                timeout_ms: request.timeout_ms,
                idempotency_key: request.idempotency_key,
            };
            http.post(post, connection, &context).await
        }
    }
}
