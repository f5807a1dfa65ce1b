<?php

declare(strict_types=1);

namespace Beck;

/** The client's own settings cannot work; nothing was sent. Let it stop the program. */
class ConfigurationException extends \InvalidArgumentException {}

/** No answer came; the call may or may not have been carried out. */
class ConnectionException extends \RuntimeException {}

/** The webhook is not from Beck, or too old. */
class WebhookVerificationException extends \RuntimeException {}

/** The secret itself is unusable: a mistake in the receiver's settings. Let it stop the program. */
class WebhookSecretException extends \InvalidArgumentException {}

/** Beck answered with an error. */
class BeckException extends \RuntimeException
{
    /**
     * @param int $status HTTP status.
     * @param string $reason Stable word to switch on: `amount_below_minimum`.
     * @param list<array{field: string, message: string}> $details
     * @param string|null $requestId Name this to support.
     */
    final public function __construct(
        string $message,
        public readonly int $status,
        public readonly string $reason,
        public readonly array $details,
        public readonly ?string $requestId,
    ) {
        parent::__construct($message, $status);
    }

    public static function of(int $status, array $error): self
    {
        $class = match ($status) {
            400, 422 => InvalidRequestException::class,
            401, 403 => AuthenticationException::class,
            404 => NotFoundException::class,
            409 => ConflictException::class,
            429 => RateLimitException::class,
            default => self::class,
        };
        return new $class(
            $error['message'] ?? "Beck answered $status",
            $status,
            $error['reason'] ?? 'unknown',
            $error['details'] ?? [],
            $error['request_id'] ?? null,
        );
    }
}

/** 400 and 422: the request is wrong, or the business refuses it. */
class InvalidRequestException extends BeckException {}
/** 401 and 403: the key is missing, wrong, revoked, or lacks the scope. */
class AuthenticationException extends BeckException {}
/** 404: no such object in this account. */
class NotFoundException extends BeckException {}
/** 409: not in this state, or the idempotency key was used for something else. */
class ConflictException extends BeckException {}
/** 429, after the client's own tries. */
class RateLimitException extends BeckException {}
