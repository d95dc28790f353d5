/** Milliseconds of each unit of a Go duration. */
const units: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  '\u00b5s': 1e-3,
  '\u03bcs': 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
};

/** The longest duration in Go: 2^63 nanoseconds. */
const longestGoMs = 2 ** 63 * 1e-6;

/** Milliseconds of a Go duration such as `1h30m` or `.5s`; `undefined` if Go would refuse it. */
export function parseDuration(text: string): number | undefined {
  const [, sign = '', rest = ''] = /^([+-]?)(.*)$/s.exec(text) ?? [];
  if (rest === '0') return 0;
  if (!/^(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|\u00b5s|\u03bcs|ms|s|m|h))+$/.test(rest)) return undefined;
  let ms = 0;
  for (const [, count = '', unit = ''] of rest.matchAll(/([\d.]+)([a-z\u00b5\u03bc]+)/g)) {
    ms += Number(count) * (units[unit] ?? Number.NaN);
  }
  if (!(ms < longestGoMs)) return undefined;
  return sign === '-' && ms !== 0 ? -ms : ms;
}

/** Formats milliseconds as a Go duration: `90s`; `undefined` if Go cannot represent it. */
export function formatDuration(ms: number): string | undefined {
  if (!(Math.abs(ms) < longestGoMs)) return undefined;
  // Go counts nanoseconds; more digits, or an exponent, it would refuse.
  return Number.isInteger(ms / 1000) ? `${ms / 1000}s` : `${ms.toFixed(6).replace(/\.?0+$/, '')}ms`;
}
