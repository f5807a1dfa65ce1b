<?php

declare(strict_types=1);

namespace Beck;

/** Checks that an event came from Beck: Standard Webhooks, HMAC-SHA256 over id, time and the raw body. */
final class Webhook
{
    /** Standard Webhooks asks for 24 bytes at least; Beck's secrets have 32. */
    private const SECRET_BYTES_MIN = 24;

    /**
     * @param string $body The raw body as it arrived: `file_get_contents('php://input')`.
     * @param array<string, string> $headers As `getallheaders()` gives them, or `$_SERVER`.
     * @param string|list<string|null>|null $secrets The endpoint's `whsec_…`, several while one is rotated out.
     * @return array The event: `id`, `type`, `created`, `data`.
     * @throws WebhookVerificationException When it is not from Beck, or too old.
     * @throws WebhookSecretException At once, whatever came, when a secret is not one that Beck gave out.
     */
    public static function verify(
        string $body,
        array $headers,
        #[\SensitiveParameter] string|array|null $secrets,
        int $toleranceSeconds = 300,
    ): array {
        $keys = array_map(self::key(...), is_array($secrets) ? array_values($secrets) : [$secrets]);
        if ($keys === []) {
            throw new WebhookSecretException('no webhook secret was given, expected one or more whsec_…');
        }
        $known = [];
        foreach ($headers as $name => $value) {
            $known[str_replace('_', '-', preg_replace('/^http_/', '', strtolower((string) $name)))] = $value;
        }
        foreach (['webhook-id', 'webhook-timestamp', 'webhook-signature'] as $name) {
            if (!is_string($known[$name] ?? null) || $known[$name] === '') {
                throw new WebhookVerificationException("the $name header is missing");
            }
        }
        $timestamp = $known['webhook-timestamp'];
        if (preg_match('/^[0-9]{1,12}$/D', $timestamp) !== 1 || abs(time() - (int) $timestamp) > $toleranceSeconds) {
            throw new WebhookVerificationException('the webhook-timestamp is too far from now');
        }
        $signed = $known['webhook-id'] . '.' . $timestamp . '.' . $body;
        foreach ($keys as $key) {
            $wanted = 'v1,' . base64_encode(hash_hmac('sha256', $signed, $key, true));
            foreach (explode(' ', $known['webhook-signature']) as $given) {
                if (hash_equals($wanted, $given)) {
                    return Json::read($body) ?? throw new WebhookVerificationException('the body is signed, but no JSON');
                }
            }
        }
        throw new WebhookVerificationException(
            'no signature of this webhook matches: is the secret that of this endpoint, and the body raw?',
        );
    }

    /** A secret that does not decode must never become a key that others can guess. */
    private static function key(#[\SensitiveParameter] mixed $secret): string
    {
        if (is_string($secret) && preg_match('~^whsec_((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)$~D', $secret, $match)) {
            $key = base64_decode($match[1], true);
            if (is_string($key) && strlen($key) >= self::SECRET_BYTES_MIN) {
                return $key;
            }
        }
        throw new WebhookSecretException(
            'a webhook secret is not one of Beck\'s: expected whsec_ and base64 of 24 bytes or more; is its variable set?',
        );
    }
}
