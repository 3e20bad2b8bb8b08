// The clock and calendar imports of the interpreter, for `os.time`, `os.date` and the like.
// A child has no time zone data, so local time is UTC. Touches no state but the C structures it is given.

type Pointer = number;
type Memory = { readonly bytes: () => Uint8Array; readonly words: () => Int32Array };

const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const months = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];

/** The fields of a C `struct tm`, in the order in which it keeps them. */
type Calendar = {
  sec: number;
  min: number;
  hour: number;
  mday: number;
  mon: number;
  year: number;
  wday: number;
  yday: number;
};
const calendarFields = ['sec', 'min', 'hour', 'mday', 'mon', 'year', 'wday', 'yday'] as const;
const dayMs = 86_400_000;

/** The time of midnight; unlike `Date.UTC`, with every year as it stands. */
function utc(year: number, month: number, day: number): number {
  return new Date(0).setUTCFullYear(year, month, day);
}

function toCalendar(date: Date): Calendar {
  const newYear = utc(date.getUTCFullYear(), 0, 1);
  return {
    sec: date.getUTCSeconds(),
    min: date.getUTCMinutes(),
    hour: date.getUTCHours(),
    mday: date.getUTCDate(),
    mon: date.getUTCMonth(),
    year: date.getUTCFullYear() - 1900,
    wday: date.getUTCDay(),
    yday: Math.floor((date.getTime() - newYear) / dayMs),
  };
}

const pad = (value: number, width = 2, fill = '0') => String(value).padStart(width, fill);

/** ISO 8601 week and the year that it belongs to. */
function isoWeek(c: Calendar): { week: number; year: number } {
  const thursday = new Date(utc(c.year + 1900, c.mon, c.mday + 4 - (c.wday || 7)));
  const year = thursday.getUTCFullYear();
  return { week: 1 + Math.floor((thursday.getTime() - utc(year, 0, 1)) / (7 * dayMs)), year };
}

/** What each conversion of `strftime` writes, in the C locale; those made of others are in `composed`. */
const conversions: Record<string, (c: Calendar) => string> = {
  a: (c) => days[c.wday]!.slice(0, 3),
  A: (c) => days[c.wday]!,
  b: (c) => months[c.mon]!.slice(0, 3),
  B: (c) => months[c.mon]!,
  C: (c) => pad(Math.floor((c.year + 1900) / 100)),
  d: (c) => pad(c.mday),
  e: (c) => pad(c.mday, 2, ' '),
  g: (c) => pad(isoWeek(c).year % 100),
  G: (c) => String(isoWeek(c).year),
  H: (c) => pad(c.hour),
  I: (c) => pad(c.hour % 12 || 12),
  j: (c) => pad(c.yday + 1, 3),
  m: (c) => pad(c.mon + 1),
  M: (c) => pad(c.min),
  n: () => '\n',
  p: (c) => c.hour < 12 ? 'AM' : 'PM',
  S: (c) => pad(c.sec),
  t: () => '\t',
  u: (c) => String(c.wday || 7),
  U: (c) => pad(Math.floor((c.yday + 7 - c.wday) / 7)),
  V: (c) => pad(isoWeek(c).week),
  w: (c) => String(c.wday),
  W: (c) => pad(Math.floor((c.yday + 7 - ((c.wday + 6) % 7)) / 7)),
  y: (c) => pad((c.year + 1900) % 100),
  Y: (c) => String(c.year + 1900),
  z: () => '+0000',
  Z: () => 'UTC',
  '%': () => '%',
};
const composed: Record<string, string> = {
  c: '%a %b %e %H:%M:%S %Y',
  D: '%m/%d/%y',
  F: '%Y-%m-%d',
  h: '%b',
  r: '%I:%M:%S %p',
  R: '%H:%M',
  T: '%H:%M:%S',
  x: '%m/%d/%y',
  X: '%H:%M:%S',
};

function format(pattern: string, calendar: Calendar): string {
  return pattern.replace(/%[EO]?(.)/gs, (whole, name: string) => {
    const parts = composed[name];
    return parts === undefined ? conversions[name]?.(calendar) ?? whole : format(parts, calendar);
  });
}

/** The imports that glue.wasm needs for its clock; times are seconds since 1970 as 64-bit integers. */
export function timeImports({ bytes, words }: Memory) {
  const write = (at: Pointer, calendar: Calendar) => {
    calendarFields.forEach((field, i) => words()[(at >> 2) + i] = calendar[field]);
    words()[(at >> 2) + 8] = 0; // tm_isdst
  };
  const read = (at: Pointer) =>
    Object.fromEntries(calendarFields.map((field, i) => [field, words()[(at >> 2) + i]!])) as Calendar;
  const fromSeconds = (seconds: bigint, at: Pointer) => write(at, toCalendar(new Date(Number(seconds) * 1000)));
  return {
    _gmtime_js: fromSeconds,
    _localtime_js: fromSeconds,
    _mktime_js(at: Pointer): bigint {
      const c = read(at);
      const date = new Date(0);
      date.setUTCFullYear(c.year + 1900, c.mon, c.mday);
      date.setUTCHours(c.hour, c.min, c.sec);
      if (Number.isNaN(date.getTime())) return -1n;
      write(at, toCalendar(date));
      return BigInt(Math.floor(date.getTime() / 1000));
    },
    _tzset_js(zone: Pointer, daylight: Pointer) {
      words()[zone >> 2] = 0;
      words()[daylight >> 2] = 0;
    },
    strftime(target: Pointer, most: number, pattern: Pointer, calendar: Pointer): number {
      const memory = bytes();
      const text = Buffer.from(memory.subarray(pattern, memory.indexOf(0, pattern))).toString('latin1');
      const result = Buffer.from(format(text, read(calendar)), 'latin1');
      if (result.length + 1 > most) return 0;
      memory.set(result, target);
      memory[target + result.length] = 0;
      return result.length;
    },
  };
}
