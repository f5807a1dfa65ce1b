<?php

declare(strict_types=1);

namespace Beck;

/**
 * JSON as the API reads and writes it.
 *
 * @internal
 */
final class Json
{
    /**
     * Objects as arrays; but inside `metadata` one that an array could not be told from a list by, such as an empty one, stays an
     * object, so that it is written again as it was.
     *
     * @return mixed Null for what is no JSON.
     */
    public static function read(string $text): mixed
    {
        return self::arrays(json_decode($text, false, 512, JSON_BIGINT_AS_STRING));
    }

    private static function arrays(mixed $value): mixed
    {
        if (is_array($value)) {
            return array_map(self::arrays(...), $value);
        }
        if (!$value instanceof \stdClass) {
            return $value;
        }
        $fields = [];
        foreach ((array) $value as $name => $each) {
            $isMetadata = $name === 'metadata' && $each instanceof \stdClass;
            $fields[$name] = $isMetadata ? array_map(self::keep(...), (array) $each) : self::arrays($each);
        }
        return $fields;
    }

    /** The same inside of metadata. */
    private static function keep(mixed $value): mixed
    {
        $kept = is_array($value) || $value instanceof \stdClass ? array_map(self::keep(...), (array) $value) : $value;
        return $value instanceof \stdClass && array_is_list($kept) ? (object) $kept : $kept;
    }

    /** JSON in which a decimal string as `fiat_amount` is a number with exactly its digits. */
    public static function write(array $body): string
    {
        $fiat = $body['fiat_amount'] ?? null;
        if (is_string($fiat)) {
            if (preg_match('/^(0|[1-9]\d{0,11})(\.\d{1,10})?$/D', $fiat) !== 1) {
                throw new ConfigurationException('fiat_amount is no decimal number such as 49.99');
            }
            unset($body['fiat_amount']);
        }
        if (is_array($body['metadata'] ?? null)) {
            $body['metadata'] = (object) $body['metadata'];
        }
        $text = json_encode((object) $body, JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES | JSON_PRESERVE_ZERO_FRACTION);
        if (!is_string($fiat)) {
            return $text;
        }
        return "{\"fiat_amount\":$fiat" . ($text === '{}' ? '}' : ',' . substr($text, 1));
    }
}
