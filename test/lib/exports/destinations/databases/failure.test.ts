import { explained } from '../../../../../lib/exports/destinations/databases/failure.ts';

const PLACE = { host: 'db', port: 5432, user: 'u', database: 'd', schema: 'public', table_name: 'persons' };
const told = (message: string): string =>
  explained(Object.assign(new Error(message), { severity: 'ERROR', code: '42P10' }), PLACE).message;

test.each([
  'there is no unique or exclusion constraint matching the ON CONFLICT specification',
  'es gibt keinen Unique-Constraint oder Exclusion-Constraint, der auf die ON-CONFLICT-Angabe passt',
])(
  'a table of persons without a key is told to be given one, in whatever language the server speaks: %s',
  (message) => {
    expect(told(message)).toContain('ADD PRIMARY KEY ("team_id", "distinct_id")');
  },
);

test('a column that the server generates is told to be made a plain one', () => {
  expect(told('column "team_id" is a generated column')).toContain('Make it a plain column of the table.');
});
