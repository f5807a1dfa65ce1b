<?php

declare(strict_types=1);

namespace Beck;

/**
 * One account of a Beck payment gateway. PHP 8.1 or newer, no dependency. Use it only on a server: its key moves money.
 *
 * Answers are arrays as the API documents them. Amounts of coins are decimal strings. Give `fiat_amount` as int or float, or as
 * a decimal string, which is sent as a number with exactly its digits. Inside `metadata` an object that
 * an array could not be told from a list by, such as an empty one, stays an object.
 *
 * Every POST carries an idempotency key, chosen at random unless given. When no answer comes, on 429, on 5xx and while the first
 * try is still under way a call is tried again under the same key, so it is carried out once.
 */
final class Beck
{
    private readonly string $key;
    private readonly string $base;

    /**
     * @param string|null $apiKey `bk_live_…` or `bk_test_…`.
     * @param string|null $baseUrl Beck's address, such as `https://pay.example.com/v1`.
     * @param int $retries Tries after the first one.
     * @param float $timeoutSeconds For one try.
     * @throws ConfigurationException
     */
    public function __construct(
        #[\SensitiveParameter] ?string $apiKey,
        ?string $baseUrl,
        private readonly int $retries = 2,
        private readonly float $timeoutSeconds = 30.0,
    ) {
        if ($apiKey === null || preg_match('/^bk_(live|test)_[0-9A-Za-z]+$/D', $apiKey) !== 1) {
            throw new ConfigurationException($apiKey
                ? 'the key is not an API key: expected bk_live_ or bk_test_ and letters and digits'
                : 'the key is not set; is its variable, such as BECK_API_KEY, there?');
        }
        $url = parse_url($baseUrl ?? '');
        if (!is_array($url) || !in_array($url['scheme'] ?? '', ['http', 'https'], true) || empty($url['host'])) {
            throw new ConfigurationException('the address is not set or is none; expected one such as https://pay.example.com/v1');
        }
        $path = rtrim($url['path'] ?? '', '/');
        $this->key = $apiKey;
        $this->base = $url['scheme'] . '://' . $url['host'] . (isset($url['port']) ? ':' . $url['port'] : '')
            . (str_ends_with($path, '/v1') ? $path : "$path/v1");
    }

    public function createPayment(array $body, ?string $idempotencyKey = null): array
    {
        return $this->call('POST', '/payments', body: $body, idempotencyKey: $idempotencyKey);
    }

    public function payment(string $id): array
    {
        return $this->call('GET', '/payments/' . rawurlencode($id));
    }

    /** One page: `items`, `total`, `page`, `limit`, `total_pages`. */
    public function payments(array $query = []): array
    {
        return $this->call('GET', '/payments', query: $query);
    }

    public function cancelPayment(string $id): array
    {
        return $this->call('POST', '/payments/' . rawurlencode($id) . '/cancel');
    }

    /** Credits what is held for an underpaid, overpaid or late payment. */
    public function acceptPayment(string $id): array
    {
        return $this->call('POST', '/payments/' . rawurlencode($id) . '/accept');
    }

    /** Sends what is held back to an address that the buyer gave. */
    public function refundPayment(string $id, array $body, ?string $idempotencyKey = null): array
    {
        return $this->call('POST', '/payments/' . rawurlencode($id) . '/refund', body: $body, idempotencyKey: $idempotencyKey);
    }

    public function createCheckoutSession(array $body = [], ?string $idempotencyKey = null): array
    {
        return $this->call('POST', '/checkout/sessions', body: $body, idempotencyKey: $idempotencyKey);
    }

    public function checkoutSession(string $id): array
    {
        return $this->call('GET', '/checkout/sessions/' . rawurlencode($id));
    }

    public function createPaymentLink(array $body, ?string $idempotencyKey = null): array
    {
        return $this->call('POST', '/payment-links', body: $body, idempotencyKey: $idempotencyKey);
    }

    public function paymentLinks(array $query = []): array
    {
        return $this->call('GET', '/payment-links', query: $query);
    }

    public function updatePaymentLink(string $id, array $body): array
    {
        return $this->call('PATCH', '/payment-links/' . rawurlencode($id), body: $body);
    }

    public function createPointOfSale(array $body, ?string $idempotencyKey = null): array
    {
        return $this->call('POST', '/points-of-sale', body: $body, idempotencyKey: $idempotencyKey);
    }

    public function pointsOfSale(): array
    {
        return $this->call('GET', '/points-of-sale');
    }

    public function pointOfSale(string $id): array
    {
        return $this->call('GET', '/points-of-sale/' . rawurlencode($id));
    }

    public function disablePointOfSale(string $id, ?string $idempotencyKey = null): array
    {
        return $this->call('POST', '/points-of-sale/' . rawurlencode($id) . '/disable', idempotencyKey: $idempotencyKey);
    }

    public function customer(string $id): array
    {
        return $this->call('GET', '/customers/' . rawurlencode($id));
    }

    public function customers(array $query = []): array
    {
        return $this->call('GET', '/customers', query: $query);
    }

    public function balance(): array
    {
        return $this->call('GET', '/balance');
    }

    public function createWithdrawal(array $body, ?string $idempotencyKey = null): array
    {
        return $this->call('POST', '/withdrawals', body: $body, idempotencyKey: $idempotencyKey);
    }

    /** What a withdrawal would cost now; moves nothing. */
    public function quoteWithdrawal(array $body): array
    {
        return $this->call('POST', '/withdrawals/quote', body: $body);
    }

    public function withdrawal(string $id): array
    {
        return $this->call('GET', '/withdrawals/' . rawurlencode($id));
    }

    /** The 100 newest. */
    public function withdrawals(): array
    {
        return $this->call('GET', '/withdrawals');
    }

    /** Until it is signed. */
    public function cancelWithdrawal(string $id): array
    {
        return $this->call('POST', '/withdrawals/' . rawurlencode($id) . '/cancel');
    }

    public function createWebhook(array $body, ?string $idempotencyKey = null): array
    {
        return $this->call('POST', '/webhooks', body: $body, idempotencyKey: $idempotencyKey);
    }

    public function webhook(string $id): array
    {
        return $this->call('GET', '/webhooks/' . rawurlencode($id));
    }

    public function webhooks(array $query = []): array
    {
        return $this->call('GET', '/webhooks', query: $query);
    }

    public function deleteWebhook(string $id): array
    {
        return $this->call('DELETE', '/webhooks/' . rawurlencode($id), ifGone: ['id' => $id, 'deleted' => true]);
    }

    public function enableWebhook(string $id): array
    {
        return $this->call('POST', '/webhooks/' . rawurlencode($id) . '/enable');
    }

    /** A new secret; for 24 hours events are signed with the old one too. */
    public function rotateWebhook(string $id, ?string $idempotencyKey = null): array
    {
        return $this->call('POST', '/webhooks/' . rawurlencode($id) . '/rotate', idempotencyKey: $idempotencyKey);
    }

    public function deliveries(string $webhook, array $query = []): array
    {
        return $this->call('GET', '/webhooks/' . rawurlencode($webhook) . '/deliveries', query: $query);
    }

    public function redeliver(string $webhook, string $delivery): array
    {
        return $this->call('POST', '/webhooks/' . rawurlencode($webhook) . '/deliveries/' . rawurlencode($delivery) . '/redeliver');
    }

    /** One page of events, oldest first: `items`, `has_more`, and `cursor`, to go on from. */
    public function events(array $query = []): array
    {
        return $this->call('GET', '/events', query: $query);
    }

    /** Test accounts only: what the buyer's wallet would do. */
    public function paySandboxPayment(string $id, array $body = []): array
    {
        return $this->call('POST', '/sandbox/payments/' . rawurlencode($id) . '/pay', body: $body);
    }

    public function expireSandboxPayment(string $id): array
    {
        return $this->call('POST', '/sandbox/payments/' . rawurlencode($id) . '/expire');
    }

    public function replaceSandboxPayment(string $id, array $body = []): array
    {
        return $this->call('POST', '/sandbox/payments/' . rawurlencode($id) . '/replace', body: $body);
    }

    public function mineSandboxBlocks(array $body): array
    {
        return $this->call('POST', '/sandbox/blocks', body: $body);
    }

    public function reorganiseSandbox(array $body): array
    {
        return $this->call('POST', '/sandbox/reorg', body: $body);
    }

    /**
     * Every item of every page of a list, read as it is asked for: `$beck->each('payments', ['filter_status' => 'completed'])`.
     *
     * @param 'payments'|'paymentLinks'|'customers'|'webhooks' $list
     */
    public function each(string $list, array $query = []): \Generator
    {
        $page = 1;
        do {
            $answer = match ($list) {
                'payments' => $this->payments(['page' => $page] + $query),
                'paymentLinks' => $this->paymentLinks(['page' => $page] + $query),
                'customers' => $this->customers(['page' => $page] + $query),
                'webhooks' => $this->webhooks(['page' => $page] + $query),
            };
            foreach ($answer['items'] as $item) {
                yield $item;
            }
        } while ($page++ < $answer['total_pages']);
    }

    /** @throws BeckException|ConnectionException */
    private function call(
        string $method,
        string $path,
        array $query = [],
        ?array $body = null,
        ?string $idempotencyKey = null,
        ?array $ifGone = null,
    ): array {
        $wanted = array_filter($query, static fn ($value): bool => $value !== null);
        $url = $this->base . $path . ($wanted ? '?' . http_build_query($wanted) : '');
        $headers = ["X-API-Key: $this->key", 'Accept: application/json', 'User-Agent: beck-php/0.1.0', 'Connection: close'];
        $content = $body === null ? '' : Json::write($body);
        if ($body !== null) {
            $headers[] = 'Content-Type: application/json';
        }
        if ($method === 'POST') {
            // The key stays the same through all tries: that is what makes them safe.
            $key = $idempotencyKey ?? bin2hex(random_bytes(16));
            if (strlen($key) > 255 || preg_match('/^[\x21-\x7e]+( +[\x21-\x7e]+)*$/D', $key) !== 1) {
                throw new ConfigurationException(
                    'an idempotency key is 1 to 255 characters of printable ASCII, without spaces around them'
                );
            }
            $headers[] = "Idempotency-Key: $key";
        }
        $mayBeDone = false;
        for ($attempt = 0;; $attempt++) {
            $isLast = $attempt >= $this->retries;
            [$status, $retryAfter, $text] = $this->exchange($method, $url, $headers, $content);
            $answer = Json::read($text);
            if ($status >= 200 && $status < 300) {
                if (is_array($answer) && array_key_exists('data', $answer)) {
                    return $answer['data'] ?? [];
                }
                // It broke off without a word of its length, or holds no data: the call may have been carried out.
                $status = 0;
            }
            if ($status === 0 && $isLast) {
                throw new ConnectionException("no whole answer from $this->base to $method $path");
            }
            $error = is_array($answer) && is_array($answer['error'] ?? null) ? $answer['error'] : [];
            // An earlier try of this call may have deleted it.
            if ($status === 404 && $mayBeDone && $ifGone !== null && str_ends_with($error['reason'] ?? '', '_not_found')) {
                return $ifGone;
            }
            $mayBeDone = $mayBeDone || $status === 0 || ($status >= 500 && $retryAfter === 0);
            // The first try is still under way: its answer is had by asking again.
            $isInFlight = ($error['reason'] ?? null) === 'idempotency_key_in_flight';
            if ($status !== 0 && ($isLast || !($status === 429 || $status >= 500 || $isInFlight))) {
                throw BeckException::of($status, $error);
            }
            // What the server asks for, else half a second doubled each time, with jitter.
            $seconds = $retryAfter > 0 ? min($retryAfter, 30) : min(0.5 * 2 ** $attempt, 8) * random_int(500, 1000) / 1000;
            usleep((int) ($seconds * 1_000_000));
        }
    }

    /** @return array{int, int, string} Status, seconds of Retry-After, body; status 0 when no whole answer came. */
    private function exchange(string $method, string $url, array $headers, string $content): array
    {
        $context = stream_context_create([
            'http' => [
                'method' => $method,
                'header' => $headers,
                'content' => $content,
                'timeout' => $this->timeoutSeconds,
                'ignore_errors' => true,
                'follow_location' => 0,
                'protocol_version' => 1.1,
            ],
            'ssl' => ['verify_peer' => true, 'verify_peer_name' => true],
        ]);
        $stream = @fopen($url, 'r', false, $context);
        if ($stream === false) {
            return [0, 0, ''];
        }
        $text = stream_get_contents($stream);
        $about = stream_get_meta_data($stream);
        fclose($stream);
        $status = 0;
        $retryAfter = 0;
        $length = null;
        foreach ($about['wrapper_data'] ?? [] as $line) {
            if (preg_match('#^HTTP/\S+ (\d{3})#', $line, $match)) {
                $status = (int) $match[1];
            } elseif (preg_match('/^Retry-After:\s*(\d+)\s*$/i', $line, $match)) {
                $retryAfter = (int) $match[1];
            } elseif (preg_match('/^Content-Length:\s*(\d+)\s*$/i', $line, $match)) {
                $length = (int) $match[1];
            }
        }
        $isCut = $text === false || $about['timed_out'] || ($length !== null && strlen($text) < $length);
        return $isCut ? [0, 0, ''] : [$status, $retryAfter, $text];
    }
}
