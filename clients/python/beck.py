"""A client of a Beck payment gateway. Python 3.9 or newer, no dependency. Use it only on a server: its key moves money.

    from decimal import Decimal
    import beck

    gateway = beck.Beck(os.environ["BECK_API_KEY"], "https://pay.example.com/v1")
    payment = gateway.payments.create(asset="LTC", fiat_amount=Decimal("49.99"), reference="order-1001")

Answers are dicts as the API documents them. Numbers come and go as `Decimal` or `int`, so no digit is lost.
"""

import base64
import binascii
import hashlib
import hmac
import http.client
import json
import random
import re
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from decimal import Decimal

__version__ = "0.1.0"
__all__ = [
    "Beck",
    "verify_webhook",
    "BeckError",
    "InvalidRequestError",
    "AuthenticationError",
    "NotFoundError",
    "ConflictError",
    "RateLimitError",
    "ConnectionError",
    "ConfigurationError",
    "WebhookVerificationError",
    "WebhookSecretError",
]


class ConfigurationError(ValueError):
    """The client's own settings cannot work; nothing was sent."""


class ConnectionError(Exception):
    """No answer came; the call may or may not have been carried out."""


class BeckError(Exception):
    """Beck answered with an error. `reason` is stable, to switch on; `details` names fields; `request_id` is for support."""

    def __init__(self, status, error):
        super().__init__(error.get("message") or f"Beck answered {status}")
        self.status = status
        self.code = error.get("code") or f"HTTP_{status}"
        self.reason = error.get("reason") or "unknown"
        self.details = error.get("details") or []
        self.request_id = error.get("request_id")


class InvalidRequestError(BeckError):
    """400 and 422: the request is wrong, or the business refuses it."""


class AuthenticationError(BeckError):
    """401 and 403: the key is missing, wrong, revoked, or lacks the scope."""


class NotFoundError(BeckError):
    """404: no such object in this account."""


class ConflictError(BeckError):
    """409: not in this state, or the idempotency key was used for something else."""


class RateLimitError(BeckError):
    """429, after the client's own tries."""


_CLASSES = {
    400: InvalidRequestError,
    401: AuthenticationError,
    403: AuthenticationError,
    404: NotFoundError,
    409: ConflictError,
    422: InvalidRequestError,
    429: RateLimitError,
}


class WebhookVerificationError(Exception):
    """The webhook is not from Beck, or too old."""


class WebhookSecretError(ValueError):
    """The secret itself is unusable: a mistake in the receiver's settings. Let it stop the program."""


class _Connection:
    def __init__(self, api_key, base_url, retries, timeout):
        if not api_key or not re.fullmatch(r"bk_(live|test)_[0-9A-Za-z]+", api_key):
            raise ConfigurationError(
                "api_key is not an API key: expected bk_live_ or bk_test_ and letters and digits"
                if api_key
                else "api_key is not set; is its variable, such as BECK_API_KEY, there?"
            )
        url = urllib.parse.urlsplit(base_url or "")
        if url.scheme not in ("http", "https") or not url.hostname:
            raise ConfigurationError(f"base_url is {base_url!r}; expected an address such as https://pay.example.com/v1")
        path = url.path.rstrip("/")
        path = path if path.endswith("/v1") else path + "/v1"
        self.base = f"{url.scheme}://{url.netloc}{path}"
        self.key, self.retries, self.timeout = api_key, retries, timeout

    def call(self, method, path, query=None, body=None, idempotency_key=None, if_gone=None):
        wanted = {name: value for name, value in (query or {}).items() if value is not None}
        url = self.base + path + ("?" + urllib.parse.urlencode(wanted) if wanted else "")
        headers = {"X-API-Key": self.key, "Accept": "application/json", "User-Agent": f"beck-python/{__version__}"}
        data = None
        if body is not None:
            data = _dump(body).encode()
            headers["Content-Type"] = "application/json"
        if method == "POST":
            # The key stays the same through all tries: that is what makes them safe.
            headers["Idempotency-Key"] = _idempotency_key(idempotency_key)
        may_be_done = False
        for attempt in range(self.retries + 1):
            is_last = attempt == self.retries
            try:
                status, retry_after, text = self._exchange(urllib.request.Request(url, data, headers, method=method))
                answer = _load(text)
                if status < 300:
                    # What breaks off without a word of its length, and what holds no data: the call may have been carried out.
                    if not isinstance(answer, dict) or "data" not in answer:
                        raise http.client.IncompleteRead(text)
                    return answer["data"]
            except (OSError, http.client.HTTPException) as cause:
                if is_last:
                    raise ConnectionError(f"no whole answer from {self.base} to {method} {path}: {cause}") from cause
                may_be_done = True
                _pause(None, attempt)
                continue
            error = answer.get("error") if isinstance(answer, dict) else None
            error = error if isinstance(error, dict) else {}
            # An earlier try of this call may have deleted it.
            if status == 404 and may_be_done and if_gone and str(error.get("reason")).endswith("_not_found"):
                return if_gone
            may_be_done = may_be_done or (status >= 500 and not retry_after)
            # The first try is still under way: its answer is had by asking again.
            is_in_flight = error.get("reason") == "idempotency_key_in_flight"
            if is_last or not (status == 429 or status >= 500 or is_in_flight):
                raise _CLASSES.get(status, BeckError)(status, error)
            _pause(retry_after, attempt)
        raise AssertionError("every try returns or raises")

    def _exchange(self, request):
        try:
            with _OPENER.open(request, timeout=self.timeout) as response:
                return response.status, response.headers.get("Retry-After"), response.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers.get("Retry-After"), error.read()


def _idempotency_key(key):
    """As Beck takes it: a whole number as its digits; one at random when none is given."""
    if key is None:
        return str(uuid.uuid4())
    if type(key) is int:
        key = str(key)
    if isinstance(key, str) and len(key) <= 255 and re.fullmatch(r"[\x21-\x7e]+( +[\x21-\x7e]+)*", key):
        return key
    raise ConfigurationError(
        "idempotency_key is none: expected 1 to 255 characters of printable ASCII, without spaces around them"
    )


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """The key goes to the address that was given and to no other."""

    def redirect_request(self, *_):
        return None


_OPENER = urllib.request.build_opener(_NoRedirect)


def _pause(retry_after, attempt):
    """What the server asks for, else half a second doubled each time, with jitter; never more than half a minute."""
    asked = float(retry_after) if retry_after and retry_after.isdigit() else 0
    time.sleep(min(asked, 30) if asked > 0 else min(0.5 * 2**attempt, 8) * random.uniform(0.5, 1))


def _dump(body):
    """JSON in which a Decimal is a number with exactly its digits."""
    numbers, mark = [], uuid.uuid4().hex

    def keep(value):
        if not isinstance(value, Decimal):
            raise TypeError(f"{type(value).__name__} cannot be sent as JSON")
        if not value.is_finite():
            raise ValueError(f"{value} is no amount")
        numbers.append(format(value, "f"))
        return f"{mark}{len(numbers) - 1}"

    text = json.dumps(body, default=keep, allow_nan=False)
    return re.sub(f'"{mark}([0-9]+)"', lambda match: numbers[int(match[1])], text)


def _load(text):
    try:
        return json.loads(text, parse_float=Decimal)
    except ValueError:
        return None


def _segment(text):
    return urllib.parse.quote(str(text), safe="")


class _Resource:
    def __init__(self, connection):
        self._call = connection.call

    def _pages(self, path, query):
        """Every item of every page, read as it is asked for."""
        page = 1
        while True:
            answer = self._call("GET", path, query={**query, "page": page})
            yield from answer["items"]
            if page >= answer["total_pages"]:
                return
            page += 1


class _Payments(_Resource):
    def create(self, idempotency_key=None, **body):
        return self._call("POST", "/payments", body=body, idempotency_key=idempotency_key)

    def retrieve(self, id):
        return self._call("GET", f"/payments/{_segment(id)}")

    def list(self, **query):
        """One page: `items`, `total`, `page`, `limit`, `total_pages`."""
        return self._call("GET", "/payments", query=query)

    def all(self, **query):
        return self._pages("/payments", query)

    def cancel(self, id, idempotency_key=None):
        return self._call("POST", f"/payments/{_segment(id)}/cancel", idempotency_key=idempotency_key)

    def accept(self, id, idempotency_key=None):
        """Credits what is held for an underpaid, overpaid or late payment."""
        return self._call("POST", f"/payments/{_segment(id)}/accept", idempotency_key=idempotency_key)

    def refund(self, id, idempotency_key=None, **body):
        """Sends what is held back to an address that the buyer gave."""
        return self._call("POST", f"/payments/{_segment(id)}/refund", body=body, idempotency_key=idempotency_key)


class _CheckoutSessions(_Resource):
    def create(self, idempotency_key=None, **body):
        return self._call("POST", "/checkout/sessions", body=body, idempotency_key=idempotency_key)

    def retrieve(self, id):
        return self._call("GET", f"/checkout/sessions/{_segment(id)}")


class _PaymentLinks(_Resource):
    def create(self, idempotency_key=None, **body):
        return self._call("POST", "/payment-links", body=body, idempotency_key=idempotency_key)

    def list(self, **query):
        return self._call("GET", "/payment-links", query=query)

    def all(self, **query):
        return self._pages("/payment-links", query)

    def update(self, id, **body):
        return self._call("PATCH", f"/payment-links/{_segment(id)}", body=body)


class _PointsOfSale(_Resource):
    def create(self, idempotency_key=None, **body):
        return self._call("POST", "/points-of-sale", body=body, idempotency_key=idempotency_key)

    def list(self):
        return self._call("GET", "/points-of-sale")

    def retrieve(self, id):
        return self._call("GET", f"/points-of-sale/{_segment(id)}")

    def disable(self, id, idempotency_key=None):
        return self._call("POST", f"/points-of-sale/{_segment(id)}/disable", idempotency_key=idempotency_key)


class _Customers(_Resource):
    def retrieve(self, id):
        return self._call("GET", f"/customers/{_segment(id)}")

    def list(self, **query):
        return self._call("GET", "/customers", query=query)

    def all(self, **query):
        return self._pages("/customers", query)


class _Balance(_Resource):
    def retrieve(self):
        return self._call("GET", "/balance")


class _Withdrawals(_Resource):
    def create(self, idempotency_key=None, **body):
        return self._call("POST", "/withdrawals", body=body, idempotency_key=idempotency_key)

    def quote(self, **body):
        """What a withdrawal would cost now; moves nothing."""
        return self._call("POST", "/withdrawals/quote", body=body)

    def list(self):
        """The 100 newest."""
        return self._call("GET", "/withdrawals")

    def retrieve(self, id):
        return self._call("GET", f"/withdrawals/{_segment(id)}")

    def cancel(self, id, idempotency_key=None):
        """Until it is signed."""
        return self._call("POST", f"/withdrawals/{_segment(id)}/cancel", idempotency_key=idempotency_key)


class _Webhooks(_Resource):
    def create(self, idempotency_key=None, **body):
        return self._call("POST", "/webhooks", body=body, idempotency_key=idempotency_key)

    def list(self, **query):
        return self._call("GET", "/webhooks", query=query)

    def retrieve(self, id):
        return self._call("GET", f"/webhooks/{_segment(id)}")

    def delete(self, id):
        return self._call("DELETE", f"/webhooks/{_segment(id)}", if_gone={"id": id, "deleted": True})

    def enable(self, id):
        return self._call("POST", f"/webhooks/{_segment(id)}/enable")

    def rotate(self, id, idempotency_key=None):
        """A new secret; for 24 hours events are signed with the old one too."""
        return self._call("POST", f"/webhooks/{_segment(id)}/rotate", idempotency_key=idempotency_key)

    def deliveries(self, id, **query):
        return self._call("GET", f"/webhooks/{_segment(id)}/deliveries", query=query)

    def redeliver(self, id, delivery_id):
        return self._call("POST", f"/webhooks/{_segment(id)}/deliveries/{_segment(delivery_id)}/redeliver")


class _Events(_Resource):
    def list(self, **query):
        """One page: `items`, `has_more`, and `cursor`, to go on from."""
        return self._call("GET", "/events", query=query)

    def all(self, after=None):
        """Every event of the last 30 days, oldest first; with `after`, those behind that one."""
        while True:
            page = self._call("GET", "/events", query={"after": after, "limit": 100})
            yield from page["items"]
            after = page["cursor"]
            if not page["has_more"]:
                return


class _Sandbox(_Resource):
    """Test accounts only: the chain is simulated and does as it is told."""

    def pay(self, payment_id, **body):
        return self._call("POST", f"/sandbox/payments/{_segment(payment_id)}/pay", body=body)

    def expire(self, payment_id):
        return self._call("POST", f"/sandbox/payments/{_segment(payment_id)}/expire")

    def replace(self, payment_id, **body):
        return self._call("POST", f"/sandbox/payments/{_segment(payment_id)}/replace", body=body)

    def mine(self, **body):
        return self._call("POST", "/sandbox/blocks", body=body)

    def reorganise(self, **body):
        return self._call("POST", "/sandbox/reorg", body=body)


class Beck:
    """One account of a gateway.

    Every POST carries an idempotency key, chosen at random unless given. When no answer comes, on 429, on 5xx and while
    the first try is still under way a call is tried again under the same key, so it is carried out once.
    """

    def __init__(self, api_key, base_url, *, retries=2, timeout=30.0):
        """`timeout` is that of one try, in seconds. Raises `ConfigurationError` for a key or an address that is none."""
        connection = _Connection(api_key, base_url, retries, timeout)
        self.payments = _Payments(connection)
        self.checkout_sessions = _CheckoutSessions(connection)
        self.payment_links = _PaymentLinks(connection)
        self.points_of_sale = _PointsOfSale(connection)
        self.customers = _Customers(connection)
        self.balance = _Balance(connection)
        self.withdrawals = _Withdrawals(connection)
        self.webhooks = _Webhooks(connection)
        self.events = _Events(connection)
        self.sandbox = _Sandbox(connection)


def verify_webhook(body, headers, *secrets, tolerance_seconds=300):
    """Checks a webhook (Standard Webhooks: HMAC-SHA256 over id, time and the raw body) and returns its event.

    `body` is the raw body as bytes, as it arrived. `headers` is anything with `items()`. `secrets` are the endpoint's
    `whsec_…`, several while one is rotated out.
    Raises `WebhookVerificationError` when it is not from Beck or too old, `WebhookSecretError` when a secret is none.
    """
    keys = [_secret(secret, place) for place, secret in enumerate(secrets, 1)]
    if not keys:
        raise WebhookSecretError("no webhook secret was given, expected one or more whsec_…")
    known = {str(name).lower(): value for name, value in headers.items()}
    values = []
    for name in ("webhook-id", "webhook-timestamp", "webhook-signature"):
        if not known.get(name):
            raise WebhookVerificationError(f"the {name} header is missing")
        values.append(str(known[name]))
    id, timestamp, signatures = values
    if not re.fullmatch(r"[0-9]{1,12}", timestamp) or abs(time.time() - int(timestamp)) > tolerance_seconds:
        raise WebhookVerificationError("the webhook-timestamp is too far from now")
    raw = body.encode() if isinstance(body, str) else bytes(body)
    signed = f"{id}.{timestamp}.".encode() + raw
    given = [entry[3:].encode() for entry in signatures.split(" ") if entry.startswith("v1,")]
    for key in keys:
        wanted = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
        if any(hmac.compare_digest(wanted, each) for each in given):
            return json.loads(raw, parse_float=Decimal)
    raise WebhookVerificationError(
        "no signature of this webhook matches: is the secret that of this endpoint, and the body raw?"
    )


def _secret(secret, place):
    """A secret that does not decode must never become a key that others can guess."""
    try:
        if isinstance(secret, str) and secret.startswith("whsec_"):
            key = base64.b64decode(secret[6:], validate=True)
            if len(key) >= 24:
                return key
    except (binascii.Error, ValueError):
        pass
    raise WebhookSecretError(
        f"webhook secret {place} is not one of Beck's: expected whsec_ and base64 of 24 bytes or more; is its variable set?"
    )
