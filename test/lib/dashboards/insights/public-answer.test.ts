import { publicColumns } from '../../../../lib/dashboards/insights/public-answer.ts';

const SQL = { kind: 'HogQLQuery', query: "SELECT event, upper('s3cr3t') FROM events" };
const COLUMNS = ['event', "upper('s3cr3t')"];

test.each([
  [SQL, { columns: COLUMNS, computed: [1] }, ['event', 'Column 2']],
  [SQL, { columns: COLUMNS }, ['Column 1', 'Column 2']],
  [SQL, {}, undefined],
  [{ kind: 'TrendsQuery' }, { columns: ['a'] }, ['a']],
])(
  'case %#: an answer of HogQL that does not tell which columns are computed shows the name of none',
  (query, told, names) => {
    expect(publicColumns(query, { results: [], ...told })).toEqual(names);
  },
);
