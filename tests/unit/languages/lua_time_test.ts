// The calendar of os.date and os.time, against the one of JavaScript and against dates that are known.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runLua } from '../../helpers/lua_run.ts';
import { seededRandom } from '../../helpers/seeded_random.ts';

function printed(source: string): string[] {
  const run = runLua(source);
  assert.equal(run.ending, 'ok', run.message);
  return run.printed.split('\n').slice(0, -1);
}

test('each conversion of a known date, as the C library writes it', () => {
  // Thursday 29 February 2024, 05:06:07 UTC.
  const table: Record<string, string> = {
    '%a': 'Thu',
    '%A': 'Thursday',
    '%b': 'Feb',
    '%B': 'February',
    '%c': 'Thu Feb 29 05:06:07 2024',
    '%C': '20',
    '%d': '29',
    '%D': '02/29/24',
    '%e': '29',
    '%F': '2024-02-29',
    '%g': '24',
    '%G': '2024',
    '%h': 'Feb',
    '%H': '05',
    '%I': '05',
    '%j': '060',
    '%m': '02',
    '%M': '06',
    '%n': '\n',
    '%p': 'AM',
    '%r': '05:06:07 AM',
    '%R': '05:06',
    '%S': '07',
    '%t': '\t',
    '%T': '05:06:07',
    '%u': '4',
    '%U': '08',
    '%V': '09',
    '%w': '4',
    '%W': '09',
    '%x': '02/29/24',
    '%X': '05:06:07',
    '%y': '24',
    '%Y': '2024',
    '%z': '+0000',
    '%Z': 'UTC',
    '%%': '%',
    '%Ey': '24',
    '%Od': '29',
    'plain é text': 'plain é text',
    '%Y-%m-%dT%H:%M:%SZ': '2024-02-29T05:06:07Z',
    '': '',
  };
  const seconds = Date.UTC(2024, 1, 29, 5, 6, 7) / 1000;
  for (const [pattern, text] of Object.entries(table)) {
    const run = runLua(`io.write(os.date(${JSON.stringify('!' + pattern)}, ${seconds}))`);
    assert.equal(run.printed, text, pattern);
    assert.equal(
      runLua(`io.write(os.date(${JSON.stringify(pattern)}, ${seconds}))`).printed,
      pattern === '' ? '' : text,
      `local ${pattern}`,
    );
  }
});

test('weeks at the turns of years are those of ISO 8601 and of C', () => {
  // date: ISO year, ISO week, weekday from Monday, %U, %W
  const table: Record<string, string> = {
    '2005-01-01': '2004 53 6 00 00',
    '2005-01-02': '2004 53 7 01 00',
    '2005-12-31': '2005 52 6 52 52',
    '2006-01-01': '2005 52 7 01 00',
    '2006-01-02': '2006 01 1 01 01',
    '2007-12-31': '2008 01 1 52 53',
    '2008-12-28': '2008 52 7 52 51',
    '2008-12-29': '2009 01 1 52 52',
    '2009-12-31': '2009 53 4 52 52',
    '2010-01-03': '2009 53 7 01 00',
    '2012-12-31': '2013 01 1 53 53',
    '2020-12-31': '2020 53 4 52 52',
    '2021-01-01': '2020 53 5 00 00',
    '1970-01-01': '1970 01 4 00 00',
    '2000-02-29': '2000 09 2 09 09',
  };
  const source = Object.keys(table).map((date) => `print(os.date("!%G %V %u %U %W", ${Date.parse(date) / 1000}))`).join(
    '\n',
  );
  assert.deepEqual(printed(source), Object.values(table));
});

test('hours of the clock with twelve', () => {
  const source = [0, 1, 11, 12, 13, 23].map((hour) => `print(os.date("!%I %p", ${hour * 3600}))`).join('\n');
  assert.deepEqual(printed(source), ['12 AM', '01 AM', '11 AM', '12 PM', '01 PM', '11 PM']);
});

test('random dates are those of JavaScript, there and back', () => {
  const random = seededRandom(51);
  const times = Array.from({ length: 400 }, () => random.below(2 ** 33) - 2 ** 31);
  const source = `for _, t in ipairs{${times.join(',')}} do
    local d = os.date("!*t", t)
    print(os.date("!%Y-%m-%d %H:%M:%S %j %w %a %b", t), os.time(d), d.wday, d.yday, d.isdst)
  end`;
  const days = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
  const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
  const expected = times.map((time) => {
    const date = new Date(time * 1000);
    const day = Math.floor(
      (Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()) -
        Date.UTC(date.getUTCFullYear(), 0, 1)) / 86_400_000,
    ) + 1;
    const text = `${date.toISOString().slice(0, 19).replace('T', ' ')} ${
      String(day).padStart(3, '0')
    } ${date.getUTCDay()} ${days[date.getUTCDay()]} ${months[date.getUTCMonth()]}`;
    return `${text}\t${time}\t${date.getUTCDay() + 1}\t${day}\tfalse`;
  });
  assert.deepEqual(printed(source), expected);
});

test('fields out of range are carried over, and the table is made right', () => {
  assert.deepEqual(
    printed(`
      local t = {year = 2024, month = 14, day = -3, hour = 25, min = 61, sec = 61}
      print(os.time(t), t.year, t.month, t.day, t.hour, t.min, t.sec, t.wday, t.yday)
      print(os.time{year = 2024, month = 1, day = 1})
      print(os.time{year = 2024, month = 1, day = 1, hour = 0})
      print(os.time{year = 1969, month = 12, day = 31, hour = 23, min = 59, sec = 58})
      print(os.time{year = 50, month = 1, day = 1, hour = 0})
      print(pcall(os.time, {year = 2024}))
      print(pcall(os.time, {year = 2024, month = "x", day = 1}))`),
    [
      [Date.UTC(2024, 13, -3, 25, 61, 61) / 1000, 2025, 1, 29, 2, 2, 1, 4, 29].join('\t'),
      String(Date.UTC(2024, 0, 1, 12) / 1000),
      String(Date.UTC(2024, 0, 1) / 1000),
      '-2',
      String(new Date('0050-01-01T00:00:00Z').getTime() / 1000),
      "false\tfield 'month' missing in date table",
      "false\tfield 'month' is not an integer",
    ],
  );
});

test('times that no calendar holds are an error of the program and not of the interpreter', () => {
  for (
    const source of [
      'os.date("!%Y", math.maxinteger)',
      'os.date("!%Y", math.mininteger)',
      'os.date("!*t", 1 << 60)',
      'os.date("%c", 9e15 // 1 | 0)',
      'os.time{year = 1 << 30, month = 1, day = 1}',
      'os.time{year = 300000, month = 1, day = 1}',
      'os.date("%Ez") os.date("%Q")',
    ]
  ) {
    const run = runLua(
      `print(pcall(function() return ${source.replace(' os.date("%Q")', ', os.date("%Q")')} end)) print("on")`,
    );
    assert.equal(run.ending, 'ok', `${source}: ${run.message}`);
    assert.match(run.printed, /on\n$/, source);
    assert.ok(!run.printed.includes('NaN') && !run.printed.includes('Invalid'), `${source}: ${run.printed}`);
  }
});

test('a conversion that does not exist is refused, and a long pattern is written whole', () => {
  assert.deepEqual(printed('print(pcall(os.date, "%Q"))'), [
    "false\tbad argument #1 to 'os.date' (invalid conversion specifier '%Q')",
  ]);
  assert.deepEqual(printed('print(#os.date("!" .. string.rep("%A", 200), 0))'), [String(8 * 200)]);
});

test('years before 1000 and after 9999 are written in full', () => {
  const year = (text: string) => Date.parse(text) / 1000;
  assert.deepEqual(
    printed(`
      print(os.date("!%Y %C %y %G %j", ${year('0099-06-15T00:00:00Z')}))
      print(os.date("!%Y %C %y", ${year('+012345-06-15T00:00:00Z')}))`),
    ['99 00 99 99 166', '12345 123 45'],
  );
});
