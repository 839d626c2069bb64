import { openDatabase } from '../../../lib/duckdb/database.ts';
import { type Column, fieldOf } from '../../../lib/warehouse/columns.ts';

/** The field over one row of the lake. */
async function valueOf(field: string, row: Readonly<Record<string, string | null>>): Promise<unknown> {
  const database = await openDatabase({ threads: 1, places: ['/'] });
  const connection = await database.connect();
  const columns = Object.keys(row).map((name, n) => `$${n + 1}::VARCHAR AS ${name}`);
  const column: Column = { name: 'x', type: 'json', field };
  const sql = `SELECT ${fieldOf(column)} FROM (SELECT ${columns.join(', ')})`;
  try {
    return (await connection.runAndReadAll(sql, Object.values(row))).getRows()[0]?.[0];
  } finally {
    connection.closeSync();
    database.closeSync();
  }
}

describe('capture_properties', () => {
  const captured = (properties: string | null, event = 'e', elements_chain: string | null = 'a:"b"') =>
    valueOf('capture_properties', { event, properties, elements_chain });

  test.each([
    ['{}', '{"$geoip_disable":true}'],
    ['{"a":1.50}', '{"a":1.50,"$geoip_disable":true}'],
    ['{"a":123456789012345678901234567890}', '{"a":123456789012345678901234567890,"$geoip_disable":true}'],
    ['{"$geoip_disable":false,"a":null,"b":{"c":null}}', '{"a":null,"b":{"c":null},"$geoip_disable":true}'],
    // Only one level down, or in a text: it is not the event's own.
    ['{"a":{"$geoip_disable":false}}', '{"a":{"$geoip_disable":false},"$geoip_disable":true}'],
    ['{"a":"\\"$geoip_disable\\""}', '{"a":"\\"$geoip_disable\\"","$geoip_disable":true}'],
    [null, '{"$geoip_disable":true}'],
    ['not json', '{"$geoip_disable":true}'],
    ['[1]', '{"$geoip_disable":true}'],
    ['"{"', '{"$geoip_disable":true}'],
  ])('of %s is %s', async (properties, expected) => {
    expect(await captured(properties)).toBe(expected);
  });

  test.each([
    ['{}', '{"$geoip_disable":true,"$elements_chain":"a:\\"b\\""}'],
    ['{"$elements_chain":"old","n":1}', '{"n":1,"$geoip_disable":true,"$elements_chain":"a:\\"b\\""}'],
    [null, '{"$geoip_disable":true,"$elements_chain":"a:\\"b\\""}'],
  ])('of %s, captured by itself, holds the chain of elements: %s', async (properties, expected) => {
    expect(await captured(properties, '$autocapture')).toBe(expected);
  });

  test('without a chain has none', async () => {
    expect(await captured('{}', '$autocapture', null)).toBe('{"$geoip_disable":true}');
  });
});

describe('ip', () => {
  const ip = (value: unknown) => valueOf('ip', { properties: JSON.stringify({ $ip: value }) });

  test.each([
    ['2001:db8::17', '2001:db8::17'],
    ['', null],
    [null, null],
    // Whoever knows the project token may send anything, and tables have columns of 200 characters.
    ['й'.repeat(201), 'й'.repeat(200)],
    ['😀'.repeat(201), '😀'.repeat(200)],
    [['a'.repeat(300)], `["${'a'.repeat(198)}`],
  ])('of %j is %j', async (sent, expected) => {
    expect(await ip(sent)).toBe(expected);
  });
});
