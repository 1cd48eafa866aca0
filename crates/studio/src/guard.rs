//! Every request is checked here before anything else.
//!
//! The address of the server is told by the Host header (against DNS rebinding), the user by a cookie that a one-time
//! token was exchanged for, the page that asks by Origin and Sec-Fetch-Site (against pages of other sites).

use crate::Studio;
use crate::connections::Trust;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, COOKIE, HOST, HeaderName, LOCATION, ORIGIN,
    REFERRER_POLICY, SET_COOKIE, UPGRADE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::fs::File;
use std::io::{self, Read};
use std::sync::{Arc, Mutex};

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Checks of a request.
pub struct Guard {
    port: u16,
    /// The value of the cookie.
    secret: String,
    /// The token of the next browser.
    token: Mutex<String>,
}

impl Guard {
    /// Secrets of its own, for the server at `port`.
    pub fn new(port: u16) -> io::Result<Guard> {
        Ok(Guard { port, secret: secret()?, token: Mutex::new(secret()?) })
    }

    /// The address to open; good for one browser.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/?token={}", self.port, self.token())
    }

    fn token(&self) -> String {
        self.token.lock().map(|token| token.clone()).unwrap_or_default()
    }

    /// Takes the token: it is worth nothing afterwards, and the next one takes its place.
    fn redeem(&self, given: &str) -> bool {
        let (Ok(mut token), Ok(next)) = (self.token.lock(), secret()) else { return false };
        let is_right = is_same(&token, given);
        if is_right {
            *token = next;
        }
        is_right
    }

    fn is_host(&self, headers: &HeaderMap) -> bool {
        let host = text(headers, &HOST);
        ["127.0.0.1", "localhost"].iter().any(|name| host == format!("{name}:{}", self.port))
    }

    /// The page that asks is ours, as far as the browser says; `writes`: it must say so.
    fn is_own_page(&self, headers: &HeaderMap, writes: bool) -> bool {
        let site = text(headers, &SEC_FETCH_SITE);
        let origin = text(headers, &ORIGIN);
        let is_own = origin == format!("http://{}", text(headers, &HOST));
        ["", "same-origin", "none"].contains(&site) && (is_own || (origin.is_empty() && !writes))
    }

    /// Cookies of all ports are sent to all ports: the name has the port.
    fn cookie(&self) -> String {
        format!("parabench-{}", self.port)
    }

    fn has_cookie(&self, headers: &HeaderMap) -> bool {
        let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs =
            cookies.flat_map(|all| all.split(';')).filter_map(|one| one.split_once('='));
        pairs.any(|(name, value)| name.trim() == self.cookie() && is_same(&self.secret, value))
    }

    fn check(&self, request: &Request) -> Result<(), (StatusCode, &'static str)> {
        let headers = request.headers();
        let is_plain = request.method() == Method::GET && !headers.contains_key(UPGRADE);
        if !self.is_host(headers) {
            return Err((StatusCode::MISDIRECTED_REQUEST, "this is not an address of the studio"));
        }
        if !self.has_cookie(headers) {
            return Err((
                StatusCode::UNAUTHORIZED,
                "open the address that `parabench studio` printed last: each is good for one browser",
            ));
        }
        match self.is_own_page(headers, !is_plain) {
            true => Ok(()),
            false => Err((StatusCode::FORBIDDEN, "requests come from pages of the studio only")),
        }
    }
}

/// 128 random bits as text.
fn secret() -> io::Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// In the same time wherever they differ.
fn is_same(one: &str, other: &str) -> bool {
    let differ = one.bytes().zip(other.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
    one.len() == other.len() && differ == 0
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> &'a str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Lets a request pass, exchanges a token, or refuses.
pub async fn guard(
    State(studio): State<Arc<Studio>>,
    ConnectInfo(trust): ConnectInfo<Trust>,
    request: Request,
    next: Next,
) -> Response {
    let response = match (redeemed(&studio, &request), studio.guard.check(&request)) {
        (Some(exchange), _) => exchange,
        (None, Ok(())) => {
            trust.grant();
            next.run(request).await
        }
        (None, Err(refused)) => refused.into_response(),
    };
    with_headers(response)
}

/// The cookie for the token, if the request has it.
fn redeemed(studio: &Studio, request: &Request) -> Option<Response> {
    let token = request.uri().query()?.strip_prefix("token=")?;
    let guard = &studio.guard;
    let is_start = request.method() == Method::GET && request.uri().path() == "/";
    if !is_start || !guard.is_host(request.headers()) || !guard.redeem(token) {
        return None;
    }
    (studio.announce)(&guard.address());
    let cookie = format!("{}={}; Path=/; HttpOnly; SameSite=Strict", guard.cookie(), guard.secret);
    Some((StatusCode::SEE_OTHER, [(SET_COOKIE, cookie), (LOCATION, "/".into())]).into_response())
}

/// Headers of every answer; an answer with a policy of its own keeps it.
fn with_headers(mut response: Response) -> Response {
    let fixed = [
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    let headers = response.headers_mut();
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let nothing = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");
    headers.entry(CONTENT_SECURITY_POLICY).or_insert(nothing);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_good_once() {
        let guard = Guard::new(1).expect("random numbers");
        let token = guard.token();
        assert!(!guard.redeem("") && !guard.redeem(&token[1..]));
        assert!(guard.redeem(&token) && !guard.redeem(&token));
        assert_ne!(guard.token(), token);
    }
}
