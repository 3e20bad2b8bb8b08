// Exact decisions about numbers: `multipleOf` by the decimal digits that the author of a schema wrote, 64-bit integers
// without rounding. Order needs nothing of its own: JavaScript compares number with bigint exactly.

/** A number as `digits` times ten to the power of `exponent`. */
interface Decimal {
  readonly digits: bigint;
  readonly exponent: number;
}

/**
 * Whether `value` is a whole multiple of `step`; 0.3 is one of 0.1, as in decimal arithmetic.
 * @param value finite
 * @param step finite, > 0
 */
export function isMultipleOf(value: number | bigint, step: number | bigint): boolean {
  const left = toDecimal(value);
  const right = toDecimal(step);
  const exponent = Math.min(left.exponent, right.exponent);
  return scaled(left, exponent) % scaled(right, exponent) === 0n;
}

function scaled(decimal: Decimal, exponent: number): bigint {
  return decimal.digits * 10n ** BigInt(decimal.exponent - exponent);
}

/** The shortest decimal that reads back as the same number. */
function toDecimal(value: number | bigint): Decimal {
  if (typeof value === 'bigint') return { digits: value, exponent: 0 };
  const [mantissa = '0', power = '0'] = value.toExponential().split('e');
  const [whole = '0', fraction = ''] = mantissa.split('.');
  return { digits: BigInt(whole + fraction), exponent: Number(power) - fraction.length };
}
