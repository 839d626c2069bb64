/** Whole SELECTs, each with the rows that it gives of `EVENTS` and `PERSONS`, by the meaning that ClickHouse has for it. */

/** The columns of a row, in the order of the fields of `TABLES`. */
type Row = readonly (string | number | null)[];

const DAY_US = 86_400_000_000;
const HOUR_US = 3_600_000_000;
/** Thursday, 1 January 2026, UTC, in microseconds. */
export const FIRST = Date.UTC(2026, 0, 1) * 1000;

const event = (
  n: number,
  name: string,
  person: string,
  at: number,
  properties: Readonly<Record<string, unknown>>,
): Row => [`e${n}`, name, `d-${person}`, JSON.stringify(properties), FIRST + at, person, '{"plan":"pro"}'];

/** uuid, event, distinct_id, properties, timestamp, person_id, person.properties */
export const EVENTS: readonly Row[] = [
  event(1, 'view', 'ada', 0, { price: 1.5, tags: 'a,b', browser: 'Firefox' }),
  event(2, 'view', 'ada', 2 * HOUR_US, { price: 2, tags: 'b', browser: 'Firefox' }),
  event(3, 'buy', 'ada', 3 * HOUR_US, { price: 10, browser: 'Firefox' }),
  event(4, 'view', 'bob', DAY_US, { price: 'much', tags: 'a', browser: 'Chrome "x"' }),
  event(5, 'buy', 'bob', DAY_US + HOUR_US, { price: 20 }),
  event(6, 'view', 'cyd', 3 * DAY_US, {}),
];

/** id, properties, created_at */
export const PERSONS: readonly Row[] = [
  ['ada', '{"email":"ada@example.com"}', FIRST],
  ['bob', '{"email":"bob@example.com"}', FIRST - DAY_US],
  ['eve', '{}', FIRST + DAY_US],
];

const day = (n: number): number => FIRST + n * DAY_US;
const hour = (n: number): number => FIRST + n * HOUR_US;

/** What a query gives: values in DuckDB's own form, times in microseconds. */
export type Case = readonly [query: string, rows: readonly (readonly unknown[])[]];

export const SELECTS: Readonly<Record<string, readonly Case[]>> = {
  Rows: [
    ['SELECT 1', [[1]]],
    ['SELECT event FROM events ORDER BY timestamp DESC LIMIT 2', [['view'], ['buy']]],
    ['SELECT event FROM events ORDER BY timestamp LIMIT 1 OFFSET 2', [['buy']]],
    ['SELECT uuid FROM events WHERE properties.browser = \'Chrome "x"\'', [['e4']]],
    ['SELECT DISTINCT event FROM events ORDER BY event DESC', [['view'], ['buy']]],
    ['SELECT DISTINCT toFloat(properties.price) AS p FROM events ORDER BY p LIMIT 2', [[1.5], [2]]],
    ['SELECT * FROM persons AS p ORDER BY id LIMIT 1', [['ada', '{"email":"ada@example.com"}', FIRST]]],
    ['SELECT p.* FROM persons AS p WHERE created_at > now() ORDER BY 1', [['eve', '{}', day(1)]]],
    [
      'SELECT uuid, toFloat(properties.price) AS p FROM events ORDER BY p DESC, uuid LIMIT 3',
      [
        ['e5', 20],
        ['e3', 10],
        ['e2', 2],
      ],
    ],
    // What is missing comes last, whichever way.
    ['SELECT uuid FROM events ORDER BY toFloat(properties.price), uuid OFFSET 4', [['e4'], ['e6']]],
    [
      'SELECT person_id, uuid FROM events ORDER BY timestamp LIMIT 1 BY person_id',
      [
        ['ada', 'e1'],
        ['bob', 'e4'],
        ['cyd', 'e6'],
      ],
    ],
    ['SELECT uuid FROM events ORDER BY timestamp LIMIT 1 OFFSET 1 BY person_id', [['e2'], ['e5']]],
    ["SELECT lower(event) AS event FROM events WHERE event = 'buy' ORDER BY uuid LIMIT 1", [['buy']]],
    ['WITH 5 AS five SELECT five + 1', [[6]]],
    [
      "SELECT toString(toFloat('12345678.9')), toString(toFloat('-12345678')), toString(toFloat('0.00012345')), toString(toFloat('1234567890123456'))",
      [['12345678.9', '-12345678', '0.00012345', '1234567890123456']],
    ],
    ["SELECT extract('b', '(a)|b'), extract('c', '(a)|b'), extract(nullIf('b', 'b'), '(a)|b')", [['', '', null]]],
    ["SELECT toString(toFloat('100')), toString(toFloat('0')), toString(toFloat('0.1'))", [['100', '0', '0.1']]],
    ['SELECT NOT (properties.price > 5) AS cheap FROM events ORDER BY uuid LIMIT 3', [[true], [true], [false]]],
  ],
  Groups: [
    ['SELECT count() FROM events', [[6]]],
    [
      "SELECT toYear(toTimeZone(timestamp, 'UTC')) AS a, toYear(toStartOfDay(timestamp, 'UTC')) AS b, count() FROM events GROUP BY toYear(timestamp), toYear(toStartOfDay(timestamp))",
      [[2026, 2026, 6]],
    ],
    ['SELECT count(*), count(properties.price), count(DISTINCT event), uniq(person_id) FROM events', [[6, 5, 2, 3]]],
    ['SELECT uniq(person_id, event), countDistinct(event), uniqExact(event) FROM events', [[5, 2, 2]]],
    [
      "SELECT countIf(event = 'buy'), uniqIf(person_id, event = 'view'), count() FILTER (WHERE event = 'view') FROM events",
      [[2, 3, 4]],
    ],
    [
      'SELECT event, count() FROM events GROUP BY event ORDER BY event',
      [
        ['buy', 2],
        ['view', 4],
      ],
    ],
    ['SELECT event AS e, count() AS c FROM events GROUP BY e HAVING c > 2', [['view', 4]]],
    ['SELECT count() FROM events GROUP BY toDate(timestamp) AS t ORDER BY t DESC', [[1], [2], [3]]],
    [
      "SELECT concat(t, '!') AS u, count() FROM events WHERE t != 'none' GROUP BY lower(event) AS t HAVING t > 'c' ORDER BY t, u",
      [['view!', 4]],
    ],
    [
      'SELECT lower(event) AS t, count() FROM events GROUP BY lower(event) AS t, t AS again, person_id IS NULL AS p ORDER BY again, p LIMIT 1',
      [['buy', 2]],
    ],
    ['SELECT event, count() FROM events GROUP BY upper(event) AS event ORDER BY event LIMIT 1', [['BUY', 2]]],
    ['SELECT e, count() FROM events GROUP BY (upper(event) AS e, person_id IS NULL) ORDER BY e LIMIT 1', [['BUY', 2]]],
    [
      'SELECT event, count() FROM events GROUP BY 1 ORDER BY 2 DESC',
      [
        ['view', 4],
        ['buy', 2],
      ],
    ],
    [
      'SELECT toStartOfDay(timestamp) AS d, count() FROM events GROUP BY d ORDER BY d',
      [
        [day(0), 3],
        [day(1), 2],
        [day(3), 1],
      ],
    ],
    [
      'SELECT toDate(timestamp) AS timestamp, count() FROM events GROUP BY timestamp ORDER BY timestamp LIMIT 1',
      [[day(0), 3]],
    ],
    ['SELECT count() FROM events GROUP BY toDate(timestamp) ORDER BY toDate(timestamp)', [[3], [2], [1]]],
    [
      'SELECT addDays(toDate(timestamp), 1) AS next, max(uuid) FROM events GROUP BY toDate(timestamp) ORDER BY next LIMIT 1',
      [[day(1), 'e3']],
    ],
    [
      'SELECT sum(properties.price), avg(properties.price), min(toFloat(properties.price)), max(toFloat(properties.price)) FROM events',
      [[33.5, 8.375, 1.5, 20]],
    ],
    [
      "SELECT median(properties.price), quantile(0.9)(properties.price), quantileIf(0.5)(properties.price, event = 'buy') FROM events",
      [[6, 17, 15]],
    ],
    [
      'SELECT round(stddevPop(toFloat(properties.price)), 4), round(varSamp(toFloat(properties.price)), 4), stddevSamp(2), varPop(properties.none) FROM events',
      [[7.5114, 75.2292, 0, null]],
    ],
    ["SELECT anyLast(event), anyLastIf(event, event = 'view') FROM events WHERE event = 'buy'", [['buy', null]]],
    [
      "SELECT argMin(uuid, timestamp), argMax(uuid, timestamp), argMaxIf(uuid, timestamp, event = 'buy'), any(person_properties) IS NOT NULL FROM events",
      [['e1', 'e6', 'e5', true]],
    ],
    ["SELECT sum(1), sum(event = 'buy'), sumIf(2, event = 'buy') FROM events", [[6, 2, 4]]],
    // What is infinite is left out.
    [
      "SELECT sum(x), avg(x), min(x), max(x), median(x), varPop(x), argMax(uuid, x) FROM (SELECT uuid, toFloat(multiIf(uuid = 'e1', '1e400', uuid = 'e2', '-1e400', uuid = 'e3', '4', '2')) AS x FROM events) AS one",
      [[10, 2.5, 2, 4, 2, 0.75, 'e3']],
    ],
    [
      "SELECT uuid, sum(x) OVER (ORDER BY uuid) AS total FROM (SELECT uuid, toFloat(if(uuid = 'e1', '1e400', '2')) AS x FROM events) AS one ORDER BY uuid LIMIT 2",
      [
        ['e1', null],
        ['e2', 2],
      ],
    ],
    // Integers are added exactly, in whichever order they come.
    [
      "SELECT avg(x), avgIf(x, uuid != 'e6'), avg(event = 'buy') * 3 FROM (SELECT uuid, event, multiIf(uuid = 'e1', 9007199254740992, uuid = 'e6', -9007199254740992, 1) AS x FROM events) AS one",
      [[4 / 6, (9007199254740992 + 4) / 5, 1]],
    ],
    [
      "SELECT DISTINCT avg(x) OVER () FROM (SELECT multiIf(uuid = 'e1', 9007199254740992, uuid = 'e6', -9007199254740992, 1) AS x FROM events) AS one",
      [[4 / 6]],
    ],
    [
      "SELECT sum(properties.price), count(), avg(1), min(uuid), groupArray(uuid) FROM events WHERE event = 'none'",
      [[null, 0, null, null, []]],
    ],
    ["SELECT count() FROM events WHERE event = 'none' GROUP BY event", []],
    [
      "SELECT groupArray(2)(uuid), groupArray(9)(uuid), groupArrayIf(2)(uuid, event = 'buy'), length(groupUniqArray(1)(event)), groupArray(2)(properties.missing) FROM (SELECT * FROM events ORDER BY uuid)",
      [[['e1', 'e2'], ['e1', 'e2', 'e3', 'e4', 'e5', 'e6'], ['e3', 'e5'], 1, []]],
    ],
    [
      'SELECT quantile(0.5)(properties.price) OVER (), quantile(0)(properties.price) OVER () FROM events LIMIT 1',
      [[6, 1.5]],
    ],
    [
      'SELECT uuid, groupArray(2)(uuid) OVER (PARTITION BY event ORDER BY uuid) FROM events ORDER BY event, uuid LIMIT 2',
      [
        ['e3', ['e3']],
        ['e5', ['e3', 'e5']],
      ],
    ],
    [
      'SELECT arraySort(groupArray(uuid)), arraySort(groupUniqArray(event)) FROM events',
      [
        [
          ['e1', 'e2', 'e3', 'e4', 'e5', 'e6'],
          ['buy', 'view'],
        ],
      ],
    ],
    [
      "SELECT person_id, arraySort(groupArrayIf(toUnixTimestamp(timestamp), event = 'buy')) AS t FROM events GROUP BY person_id ORDER BY person_id",
      [
        ['ada', [hour(3) / 1e6]],
        ['bob', [hour(25) / 1e6]],
        ['cyd', []],
      ],
    ],
    ['SELECT count() + 1 AS a, a * 2 FROM events', [[7, 14]]],
    [
      "SELECT if(event = 'buy', 'yes', 'no') AS b, b = 'yes', count() FROM events GROUP BY b ORDER BY b",
      [
        ['no', false, 4],
        ['yes', true, 2],
      ],
    ],
    ['SELECT 1 FROM events HAVING count() > 100', []],
    // A key may be made of another, and of what is no key.
    ['SELECT concat(event, uuid) AS a, event FROM events GROUP BY a, event ORDER BY a LIMIT 1', [['buye3', 'buy']]],
    [
      'SELECT properties.browser, length(properties.browser), count() FROM events GROUP BY properties ORDER BY 3 DESC, 1 LIMIT 1',
      [['Chrome "x"', 10, 1]],
    ],
    ['SELECT event FROM events GROUP BY event ORDER BY count()', [['buy'], ['view']]],
    [
      'SELECT count(), event FROM events GROUP BY event, person_id ORDER BY event, count() DESC LIMIT 1 BY event',
      [
        [1, 'buy'],
        [2, 'view'],
      ],
    ],
  ],
  Sums: [
    ['SELECT sum(coalesce(properties.price, 0)), max(ifNull(properties.price, 0)) FROM events', [[33.5, 20]]],
    // A sum of what cannot be missing is 0 of no rows.
    [
      "SELECT sumIf(10, event = 'buy') + sumIf(5, event = 'none') + sumIf(-1, event = 'view') AS score, sumIf(1.5, event = 'none'), sumIf(length(event) * 2, event = 'none') / count(), sum(event = 'buy') FROM events WHERE person_id = 'ada'",
      [[8, 0, 0, 1]],
    ],
    [
      "SELECT person_id, sumIf(1, event = 'buy') FROM events GROUP BY person_id ORDER BY person_id",
      [
        ['ada', 1],
        ['bob', 1],
        ['cyd', 0],
      ],
    ],
    [
      "SELECT sumIf(toFloat(properties.price), event = 'none'), sumIf(nullIf(1, 1), 1 = 1), sum(9223372036854775807) FROM events",
      [[null, null, null]],
    ],
    [
      "SELECT uuid, sumIf(2, event = 'buy') OVER w, sumIf(0.5, event = 'buy') OVER w, sumIf(properties.price, event = 'buy') OVER w FROM events WINDOW w AS (ORDER BY uuid ROWS BETWEEN CURRENT ROW AND CURRENT ROW) ORDER BY uuid LIMIT 3",
      [
        ['e1', 0, 0, null],
        ['e2', 0, 0, null],
        ['e3', 2, 0.5, 10],
      ],
    ],
    [
      "SELECT sum(x), sum(x + 0.5) FROM (SELECT count() * 2 AS x FROM events WHERE event = 'none' GROUP BY person_id)",
      [[0, 0]],
    ],
    // Of rows that have no number, as of a division by zero, it is none.
    [
      "SELECT sum(a / b), sumIf(a / b, a > 5), sum(a % b), sum(9223372036854775807 + a) FROM (SELECT person_id, countIf(event = 'view') AS a, countIf(event = 'none') AS b FROM events GROUP BY person_id)",
      [[null, 0, null, null]],
    ],
    [
      "SELECT uuid, sum(x / 0) OVER w, sumIf(x / 0, event = 'view') OVER w, sumIf(x % 0, event = 'view') OVER w FROM (SELECT uuid, event, length(event) AS x FROM events) WINDOW w AS (ORDER BY uuid ROWS BETWEEN CURRENT ROW AND CURRENT ROW) ORDER BY uuid OFFSET 1 LIMIT 2",
      [
        ['e2', null, null, null],
        ['e3', null, 0, 0],
      ],
    ],
  ],
  'Rows in an order': [
    [
      "SELECT person_id, arrayStringConcat(groupArray(event), ' > ') AS path, any(uuid) FROM (SELECT person_id, event, uuid FROM events ORDER BY timestamp DESC) GROUP BY person_id ORDER BY person_id",
      [
        ['ada', 'buy > view > view', 'e3'],
        ['bob', 'buy > view', 'e5'],
        ['cyd', 'view', 'e6'],
      ],
    ],
    [
      "WITH q AS (SELECT uuid, event FROM events ORDER BY timestamp DESC LIMIT 3) SELECT groupArray(q.uuid), groupArrayIf(q.uuid, q.event = 'view')[1] FROM q",
      [[['e6', 'e5', 'e4'], 'e6']],
    ],
    ['SELECT groupArray(event) FROM (SELECT DISTINCT event FROM events ORDER BY event DESC)', [[['view', 'buy']]]],
    [
      'SELECT groupArray(uuid) FROM (SELECT uuid FROM events ORDER BY timestamp DESC LIMIT 1 BY person_id)',
      [[['e6', 'e5', 'e3']]],
    ],
    [
      'SELECT groupArray(p.id) FROM (SELECT u, p FROM (SELECT uuid AS u, person_id AS p FROM events ORDER BY event, uuid DESC)) AS e JOIN persons AS p ON p.id = e.p',
      [[['bob', 'ada', 'bob', 'ada', 'ada']]],
    ],
  ],
  Relations: [
    [
      'SELECT e.uuid, p.created_at FROM events AS e JOIN persons AS p ON e.person_id = p.id ORDER BY e.uuid LIMIT 1',
      [['e1', FIRST]],
    ],
    ['SELECT e.uuid, p.id FROM events e LEFT JOIN persons p ON p.id = e.person_id WHERE p.id IS NULL', [['e6', null]]],
    ['SELECT count() FROM persons a CROSS JOIN persons b WHERE a.id < b.id', [[3]]],
    ['SELECT count() FROM persons a, persons b', [[9]]],
    [
      'SELECT p.id, count(e.uuid) AS c FROM persons p LEFT JOIN (SELECT uuid, person_id FROM events) AS e ON e.person_id = p.id GROUP BY p.id ORDER BY p.id',
      [
        ['ada', 3],
        ['bob', 2],
        ['eve', 0],
      ],
    ],
    ['SELECT avg(c) FROM (SELECT person_id, count() AS c FROM events GROUP BY person_id)', [[2]]],
    [
      "SELECT person_id IN (SELECT person_id FROM events WHERE event = 'buy') AS b, if(b, 'yes', 'no'), count() FROM events GROUP BY b ORDER BY b",
      [
        [false, 'no', 1],
        [true, 'yes', 5],
      ],
    ],
    [
      "SELECT (person_id, event) IN (SELECT person_id, 'view' FROM events), count() FROM events GROUP BY 1 ORDER BY 1",
      [
        [false, 2],
        [true, 4],
      ],
    ],
    [
      'WITH firsts AS (SELECT person_id, min(timestamp) AS t FROM events GROUP BY person_id) SELECT count() FROM events e JOIN firsts f ON e.person_id = f.person_id AND e.timestamp > f.t',
      [[3]],
    ],
    [
      'WITH a AS (SELECT uuid FROM events), b AS (SELECT uuid AS u FROM a) SELECT count() FROM a JOIN b ON a.uuid = b.u',
      [[6]],
    ],
    [
      "SELECT uuid FROM events WHERE person_id IN (SELECT person_id FROM events WHERE event = 'buy') ORDER BY uuid DESC LIMIT 1",
      [['e5']],
    ],
    ["SELECT uuid FROM events WHERE person_id NOT IN (SELECT nullIf(id, 'eve') FROM persons)", [['e6']]],
    [
      "SELECT 1 AS a, 'x' AS b UNION ALL SELECT 2.5, NULL",
      [
        [1, 'x'],
        [2.5, null],
      ],
    ],
    ['SELECT sum(a) FROM (SELECT 1 AS a UNION ALL SELECT 2 UNION ALL SELECT 3)', [[6]]],
    ['SELECT person.properties.plan, e.person.properties.plan FROM events e LIMIT 1', [['pro', 'pro']]],
  ],
  'Subqueries as values': [
    ['SELECT (SELECT 1) + 1', [[2]]],
    ['SELECT uuid FROM events WHERE timestamp >= (SELECT max(timestamp) FROM events)', [['e6']]],
    [
      'SELECT uuid FROM events WHERE toFloat(properties.price) > (SELECT avg(toFloat(properties.price)) FROM events) ORDER BY uuid',
      [['e3'], ['e5']],
    ],
    ["SELECT count() / (SELECT count() FROM events) FROM events WHERE event = 'nothing'", [[0]]],
    ['SELECT count() AS c, (SELECT count() FROM persons) AS p, c * p FROM events', [[6, 3, 18]]],
    [
      'SELECT event, count() - (SELECT min(id) FROM persons WHERE 1 = 2 LIMIT 1)::int AS c FROM events GROUP BY event ORDER BY event',
      [
        ['buy', null],
        ['view', null],
      ],
    ],
    [
      "SELECT event, count() AS c FROM events GROUP BY event HAVING c > (SELECT count() FROM events WHERE event = 'buy')",
      [['view', 4]],
    ],
    [
      'SELECT event, sum(count()) OVER () + (SELECT count() FROM persons) AS c FROM events GROUP BY event ORDER BY event',
      [
        ['buy', 9],
        ['view', 9],
      ],
    ],
    ["SELECT uuid, row_number() OVER (ORDER BY uuid) + (SELECT 10) AS n FROM events WHERE uuid = 'e1'", [['e1', 11]]],
    [
      'SELECT event = (SELECT max(event) FROM events) AS is_last, count() AS c FROM events GROUP BY is_last ORDER BY c',
      [
        [false, 2],
        [true, 4],
      ],
    ],
    [
      "SELECT concat(event, (SELECT 'x')), count() AS c FROM events GROUP BY concat(event, (SELECT 'x')) HAVING concat(event, (SELECT 'x')) != 'buyx'",
      [['viewx', 4]],
    ],
    ['SELECT (SELECT max(id) FROM persons) AS last, count() FROM events GROUP BY last', [['eve', 6]]],
    [
      'SELECT (SELECT id FROM persons WHERE 1 = 2 LIMIT 1), (SELECT id FROM persons ORDER BY id LIMIT 1)',
      [[null, 'ada']],
    ],
    ['SELECT sum(toFloat(properties.price) - (SELECT 1)) FROM events', [[29.5]]],
    ['SELECT count() FROM (SELECT 1) AS a, persons AS b WHERE b.id = (SELECT max(id) FROM persons)', [[1]]],
    [
      'WITH firsts AS (SELECT min(timestamp) AS at FROM events) SELECT count() FROM events WHERE timestamp = (SELECT at FROM firsts LIMIT 1)',
      [[1]],
    ],
    ['SELECT arrayJoin([1, (SELECT 2)]) AS x ORDER BY x', [[1], [2]]],
  ],
  Tuples: [
    ["SELECT uuid FROM events WHERE (event, distinct_id) = ('buy', 'd-bob')", [['e5']]],
    ["SELECT count() FROM events WHERE tuple(event, person_id) != tuple('view', 'ada')", [[4]]],
    [
      "SELECT uuid FROM events WHERE (event, person_id) IN (('buy', 'ada'), ('view', 'bob')) ORDER BY uuid",
      [['e3'], ['e4']],
    ],
    ["SELECT uuid FROM events WHERE (event, person_id) IN ('buy', 'ada')", [['e3']]],
    ["SELECT count() FROM events WHERE (event, person_id) NOT IN [('buy', 'ada'), ('buy', NULL)]", [[5]]],
    ["SELECT count() FROM events WHERE (properties.tags, event) IN ((NULL, 'buy'))", [[0]]],
    ["SELECT count() FROM events WHERE (properties.tags, event) = (NULL, 'buy')", [[2]]],
    [
      "SELECT event, person_id, count() FROM events WHERE person_id = 'ada' GROUP BY (event, person_id) ORDER BY event",
      [
        ['buy', 'ada', 1],
        ['view', 'ada', 2],
      ],
    ],
    [
      "SELECT (event, 1) AS t, t.1, tupleElement(t, 2), tuple(uuid, NULL).2 FROM events WHERE uuid = 'e1'",
      [[['view', 1], 'view', 1, null]],
    ],
    [
      'SELECT (event, properties.tags) AS t, count() FROM events GROUP BY t ORDER BY t.1, count() DESC, t DESC',
      [
        [['buy', null], 2],
        [['view', 'b'], 1],
        [['view', 'a,b'], 1],
        [['view', 'a'], 1],
        [['view', null], 1],
      ],
    ],
    [
      "SELECT groupArray((uuid, timestamp)) AS l, l[2].1, arrayMap(x -> x.1, l), arrayFilter(x -> x.1 = 'e3', l).1.1 FROM (SELECT uuid, timestamp FROM events WHERE event = 'buy' ORDER BY uuid)",
      [
        [
          [
            ['e3', hour(3)],
            ['e5', hour(25)],
          ],
          'e5',
          ['e3', 'e5'],
          'e3',
        ],
      ],
    ],
    [
      "SELECT arrayJoin([(1, 'a'), (2, 'b')]) AS t, t.2 AS name ORDER BY t DESC",
      [
        [[2, 'b'], 'b'],
        [[1, 'a'], 'a'],
      ],
    ],
    [
      'SELECT argMax((event, uuid), timestamp), uniq((event, person_id)), any((1, 2)) FROM events',
      [[['view', 'e6'], 5, [1, 2]]],
    ],
    [
      'SELECT uuid FROM events WHERE (person_id, timestamp) IN (SELECT person_id, max(timestamp) FROM events GROUP BY person_id) ORDER BY uuid',
      [['e3'], ['e5'], ['e6']],
    ],
    ["SELECT count() FROM events WHERE (event, properties.tags) IN (SELECT ('view', 'a'))", [[1]]],
    [
      'SELECT count() FROM events WHERE (event, properties.tags) NOT IN (SELECT event, properties.tags FROM events)',
      [[3]],
    ],
    [
      "SELECT arrayMap(x -> (x, length(x)), splitByChar(',', 'a,bb')), has([(1, 'a')], (1, 'a')), if(1 = 2, (1, 'a'), (2, 'b')), [(1, 2.5)][9]",
      [
        [
          [
            ['a', 1],
            ['bb', 2],
          ],
          true,
          [2, 'b'],
          null,
        ],
      ],
    ],
    [
      "SELECT t = (1, 'a'), t != (1, 'b'), t IN ((1, 'a'), (2, 'b')), t IN (1, 'b') FROM (SELECT (1, 'a') AS t)",
      [[true, true, true, false]],
    ],
    [
      'SELECT DISTINCT (event, 1) AS t, t.1 AS name FROM events ORDER BY name',
      [
        [['buy', 1], 'buy'],
        [['view', 1], 'view'],
      ],
    ],
    [
      "SELECT uuid, (SELECT (min(uuid), 1) FROM events) AS t, row_number() OVER (PARTITION BY (event, person_id) ORDER BY (timestamp, uuid)) FROM events WHERE person_id = 'ada' ORDER BY (event, uuid)",
      [
        ['e3', ['e1', 1], 1],
        ['e1', ['e1', 1], 1],
        ['e2', ['e1', 1], 2],
      ],
    ],
    ['WITH q AS (SELECT (event, uuid) AS t FROM events) SELECT q.t.2 FROM q ORDER BY q.t.2 LIMIT 1', [['e1']]],
    ['SELECT (1, 2) UNION ALL SELECT NULL', [[[1, 2]], [null]]],
  ],
  Windows: [
    [
      'SELECT uuid, row_number() OVER (PARTITION BY person_id ORDER BY timestamp) AS n FROM events ORDER BY uuid LIMIT 4',
      [
        ['e1', 1],
        ['e2', 2],
        ['e3', 3],
        ['e4', 1],
      ],
    ],
    [
      'SELECT rank() OVER (ORDER BY event), dense_rank() OVER (ORDER BY event) FROM events ORDER BY uuid LIMIT 3',
      [
        [3, 2],
        [3, 2],
        [1, 1],
      ],
    ],
    [
      "SELECT lagInFrame(uuid) OVER w, leadInFrame(uuid, 1, 'none') OVER w, lag(uuid, 2) OVER w, lead(uuid) OVER w FROM events WHERE person_id = 'ada' WINDOW w AS (ORDER BY timestamp) ORDER BY timestamp",
      [
        [null, 'e2', null, 'e2'],
        ['e1', 'e3', null, 'e3'],
        ['e2', 'none', 'e1', null],
      ],
    ],
    [
      'SELECT first_value(uuid) OVER (PARTITION BY person_id ORDER BY timestamp), last_value(uuid) OVER (PARTITION BY person_id ORDER BY timestamp ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) FROM events ORDER BY uuid LIMIT 2',
      [
        ['e1', 'e3'],
        ['e1', 'e3'],
      ],
    ],
    [
      'SELECT first_value(toFloat(properties.price)) OVER (ORDER BY uuid DESC), last_value(properties.browser) OVER (ORDER BY uuid) FROM events ORDER BY uuid DESC LIMIT 3',
      [
        [null, 'Chrome "x"'],
        [20, 'Chrome "x"'],
        [20, 'Chrome "x"'],
      ],
    ],
    ['SELECT sum(count()) OVER (ORDER BY event) FROM events GROUP BY event ORDER BY event', [[2], [6]]],
    [
      `SELECT min(timestamp) OVER (PARTITION BY person_id ORDER BY timestamp RANGE BETWEEN 1 FOLLOWING AND ${HOUR_US} FOLLOWING) FROM events ORDER BY uuid LIMIT 3`,
      [[null], [hour(3)], [null]],
    ],
    [
      "SELECT count() OVER (ORDER BY timestamp ROWS BETWEEN 1 PRECEDING AND CURRENT ROW), countIf(event = 'buy') OVER () FROM events ORDER BY uuid LIMIT 2",
      [
        [1, 2],
        [2, 2],
      ],
    ],
    [
      "SELECT anyLast(uuid) OVER (ORDER BY uuid), anyLastIf(uuid, event = 'buy') OVER (PARTITION BY person_id) FROM events ORDER BY uuid LIMIT 2",
      [
        ['e1', 'e3'],
        ['e2', 'e3'],
      ],
    ],
    [
      'SELECT avg(toFloat(properties.price)) OVER (PARTITION BY event), max(uuid) OVER (), any(event) OVER (ORDER BY uuid) FROM events ORDER BY uuid LIMIT 1',
      [[1.75, 'e6', 'view']],
    ],
    [
      'SELECT n, count() FROM (SELECT row_number() OVER (PARTITION BY person_id ORDER BY timestamp) AS n FROM events) GROUP BY n ORDER BY n',
      [
        [1, 3],
        [2, 2],
        [3, 1],
      ],
    ],
  ],
  Lists: [
    [
      "SELECT arrayJoin(splitByChar(',', properties.tags)) AS tag, count() FROM events GROUP BY tag ORDER BY tag",
      [
        ['a', 2],
        ['b', 2],
      ],
    ],
    ["SELECT uuid, arrayJoin(['x', 'y']) AS a FROM events WHERE a = 'y' ORDER BY uuid LIMIT 1", [['e1', 'y']]],
    ['SELECT arrayJoin(range(3)) AS n ORDER BY n DESC LIMIT 1', [[2]]],
    [
      "SELECT arrayJoin(['x', 'y']) AS a, uniq(a), max(concat(a, '!')), uniqIf(a, a = 'x') FROM events GROUP BY a ORDER BY a",
      [
        ['x', 1, 'x!', 1],
        ['y', 1, 'y!', 0],
      ],
    ],
    [
      'SELECT arrayJoin(l) FROM (SELECT arraySort(groupUniqArray(person_id)) AS l FROM events)',
      [['ada'], ['bob'], ['cyd']],
    ],
    [
      "SELECT length(groupArray(toFloat(properties.price))), has(groupArray(event), 'buy'), arrayElement(arraySort(groupArray(timestamp)), 2) FROM events",
      [[4, true, hour(2)]],
    ],
    [
      "SELECT hasAny(l, ['buy', 'x']), hasAll(l, ['buy', 'x']), hasAll(l, ['buy', 'view']), arrayDistinct(l)[2], arrayUniq(l), arrayCount(x -> x = 'view', l) FROM (SELECT groupArray(event) AS l FROM (SELECT event FROM events ORDER BY timestamp))",
      [[true, false, true, 'buy', 2, 4]],
    ],
    [
      'SELECT arrayMap(t -> toStartOfDay(t), arraySort(groupArray(timestamp)))[4], arrayFilter(x -> x > 5, arraySort(groupArray(toFloat(properties.price)))) FROM events',
      [[day(1), [10, 20]]],
    ],
    ['SELECT arrayExists(x -> x = 10, groupArray(toInt(properties.price))) FROM events', [[true]]],
  ],
};
