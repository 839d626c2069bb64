/** The forms of destinations, held to what the destinations take. */
import { configOf, DESTINATIONS, initialValues } from '../../../lib/console/client/destinations.ts';
import { DESTINATIONS as SERVED } from '../../../lib/exports/destinations/index.ts';

const formOf = (type: string) => DESTINATIONS.find((form) => form.type === type);

test('every destination has a form but the one that keeps nothing', () => {
  expect(DESTINATIONS.map(({ type }) => type).toSorted()).toEqual(
    SERVED.map(({ type }) => type).filter((type) => type !== 'NoOp'),
  );
});

describe.each(SERVED.flatMap((one) => formOf(one.type) ?? []))('the form of $type', (form) => {
  const { config, secrets } = SERVED.find(({ type }) => type === form.type) as (typeof SERVED)[number];

  test('asks for what the destination must have, and for nothing that it does not know', () => {
    const asked = form.fields.map(({ key }) => key);
    expect(Object.keys(config.shape)).toEqual(expect.arrayContaining(asked));
    const must = Object.entries(config.shape).filter(([, field]) => !field.safeParse(undefined).success);
    expect(asked).toEqual(expect.arrayContaining(must.map(([key]) => key)));
  });

  test('hides secrets but for the name of a user while they are written', () => {
    const shown = form.fields.filter(({ key, kind }) => secrets.includes(key) && kind !== 'secret');
    expect(shown.filter(({ key }) => key !== 'user')).toEqual([]);
  });

  test('begins with values that the destination takes, once what must be written is', () => {
    const values = initialValues(form);
    const written = form.fields.filter(({ key, isRequired }) => isRequired && values[key] === '');
    const filled = Object.fromEntries(written.map(({ key, kind }) => [key, kind === 'number' ? 1 : 'x']));
    expect(config.safeParse(configOf(form, { ...values, ...filled })).error).toBeUndefined();
  });
});
