import { Alert, Button, Card, Code, Group, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, lazy, useMemo, useState } from 'react';
import { useScope } from '../client/access.ts';
import { answered, api, Refusal, type Schemas, type Versioned } from '../client/api.ts';
import { useEventNames } from '../client/events.ts';
import {
  boardsChange,
  changedBoards,
  type Insight,
  type InsightChange,
  insightKey,
  readInsight,
  useAnswer,
  useInsight,
  writeInsight,
} from '../client/insights.ts';
import { changedOf } from '../client/json.ts';
import { FIRST_QUESTION, firstQuestion, isWhole, type Question, queryOf, questionOf } from '../client/questions.ts';
import { useNavigateFromHere, useParam } from '../parts/address.ts';
import { disputedFields } from '../parts/conflict-notice.tsx';
import { DashboardsChoice } from '../parts/dashboards/dashboard-choice.tsx';
import { useSubmission } from '../parts/form.ts';
import { Builder } from '../parts/insights/builder.tsx';
import { Computed } from '../parts/insights/computed.tsx';
import { DeleteInsight } from '../parts/insights/delete-insight.tsx';
import { LazyChart } from '../parts/insights/lazy-chart.tsx';
import { LoadedLater } from '../parts/loaded-later.tsx';
import { Loading } from '../parts/loading.tsx';
import { AwaitedPage, Page } from '../parts/page.tsx';
import { faultOf, MayBeOld, Problem, tell } from '../parts/problem.tsx';
import { ScopedButton } from '../parts/scoped-button.tsx';
import { ToButton } from '../parts/to.tsx';
import { Unsaved } from '../parts/unsaved.tsx';
import { useVersionedWrite } from '../parts/versioned-write.tsx';

const DownloadCsv = lazy(() => import('../parts/insights/download-csv.tsx'));
const DataRangeOffer = lazy(() => import('../parts/insights/data-range-offer.tsx'));

/** A question is asked once nobody has changed it for so long. */
const UNCHANGED_MS = 500;

const NEW = 'New insight';

export default function InsightPage() {
  const project = useParam('project');
  const id = useParam('id');
  const isNew = id === 'new';
  const queries = useQueryClient();
  const asked = useInsight(project, isNew ? undefined : id);
  const [isAnew, setAnew] = useState(0);
  const look = (theirs: Versioned<Insight>): void => {
    queries.setQueryData(insightKey(project, id), theirs);
    setAnew((times) => times + 1);
  };
  if (isNew) return <NewInsight key={project} project={project} look={look} />;
  // A form does not begin with what was read for another page: it may be true no longer.
  if (asked.data !== undefined && asked.isFetchedAfterMount)
    return <InsightEditor key={isAnew} project={project} first={FIRST_QUESTION} seen={asked.data} look={look} />;
  return <AwaitedPage title="Insight" asked={asked} />;
}

/** Begins with events that the project has. */
function NewInsight({ project, look }: Pick<InsightEditorProps, 'project' | 'look'>) {
  const names = useEventNames(project, { anew: true });
  const [first, setFirst] = useState<Question>();
  if (first === undefined && !names.isFetching) setFirst(firstQuestion(names.data?.results ?? []));
  if (first !== undefined) return <InsightEditor project={project} first={first} seen={undefined} look={look} />;
  return (
    <Page title={NEW}>
      <Loading />
    </Page>
  );
}

interface InsightEditorProps {
  readonly project: string;
  /** The question that the form begins with where nothing says another one. */
  readonly first: Question;
  readonly seen: Versioned<Insight> | undefined;
  /** Begins anew from another version. */
  readonly look: (version: Versioned<Insight>) => void;
}

/** Asks and keeps a question. What is being written is not touched by what others change meanwhile. */
function InsightEditor({ project, first, seen, look }: InsightEditorProps) {
  const navigate = useNavigateFromHere();
  const queries = useQueryClient();
  const [base, setBase] = useState(seen);
  const kept = base?.value;
  const begun = kept?.query == null ? first : questionOf(kept.query);
  const [question, setQuestion] = useState<Question>(begun ?? first);
  const [untouched, setUntouched] = useState(question);
  const isTouched = question !== untouched;
  const [name, setName] = useState(kept?.name ?? '');
  const [boards, setBoards] = useState<readonly number[]>(kept?.dashboards ?? []);
  const moved = boardsChange(kept?.dashboards ?? [], boards);
  const isUnsaved = isTouched || name !== (kept?.name ?? '') || moved !== undefined;
  const saving = useSubmission();
  const [settled] = useDebouncedValue(question, UNCHANGED_MS);
  // What the form cannot say is asked as it was kept, until somebody begins anew.
  const isForm = begun !== undefined || isTouched;
  // What is kept was never read; the service says what is wrong with it.
  const query = useMemo(() => (isForm ? queryOf(settled) : (kept?.query as Schemas['Query'])), [isForm, settled, kept]);
  const isAsked = !isForm || isWhole(settled);
  const answer = useAnswer(project, query, isAsked);
  const ask = (): void => {
    if (isAsked) void answer.refetch();
  };
  // What could not be asked for again is there still.
  const failure = answer.data === undefined ? answer.error : null;
  const fault = failure instanceof Refusal ? failure.message : undefined;

  const renew = (id: number) =>
    Promise.all(
      [['insights', project], ['dashboard', project], insightKey(project, String(id))].map((queryKey) =>
        queries.invalidateQueries({ queryKey }),
      ),
    );
  const { send, notice } = useVersionedWrite<InsightChange, Insight>({
    what: 'the insight',
    read: () => readInsight(project, String(kept?.id)),
    write: (change, over) => writeInsight(project, over, change),
    show: (version, own) => {
      if (own === undefined) {
        look(version);
        return;
      }
      const { value } = version;
      const sentName = own.name ?? kept?.name ?? '';
      const sentBoards = changedBoards(kept?.dashboards ?? [], own.dashboards);
      setBase(version);
      // What was written since it was sent stays.
      setName((now) => (now === sentName ? (value.name ?? '') : now));
      setBoards((now) => changedBoards(value.dashboards, boardsChange(sentBoards, now)));
      if (own.query === undefined) {
        // It may be theirs.
        const theirs = questionOf(value.query) ?? first;
        setQuestion((now) => (now === untouched ? theirs : now));
        setUntouched(theirs);
      } else if (JSON.stringify(queryOf(question)) === JSON.stringify(own.query)) setUntouched(question);
    },
    written: async ({ value }) => {
      await renew(value.id);
      tell(`${value.name || 'The insight'} is kept.`);
    },
    disputed: ({ dashboards, ...fields }, theirs) =>
      disputedFields<keyof InsightChange>(
        {
          ...fields,
          ...(dashboards === undefined ? {} : { dashboards: changedBoards(theirs.dashboards, dashboards) }),
        },
        theirs,
      ),
    attempt: saving.attempt,
  });

  const change = (some: Partial<Question>): void => setQuestion((all) => ({ ...all, ...some }));

  async function save(): Promise<void> {
    const asked = queryOf(question);
    if (base !== undefined) {
      const own: InsightChange = {
        ...changedOf({ name }, { name: base.value.name ?? '' }),
        ...(moved === undefined ? {} : { dashboards: moved }),
        ...(isTouched ? { query: asked } : {}),
      };
      await send(own, base);
      return;
    }
    // “Back” leads to where it was begun, and not to an empty form.
    await make({ name, query: asked, dashboards: [...boards] }, { replace: true });
  }

  /** Makes an insight of what is in the form, and shows it. */
  async function make(body: Schemas['InsightsCreateRequest'], { replace }: { readonly replace: boolean }) {
    const { id } = await answered(
      api.POST('/api/projects/{project_id}/insights/', { params: { path: { project_id: project } }, body }),
    );
    await renew(id);
    tell(`${body.name || 'The insight'} is kept.`);
    navigate({ to: `/projects/${project}/insights/${id}`, replace, ignoreBlocker: true });
  }

  /** It is on the dashboards that were chosen here: those of the other one may not be for everybody to change. */
  const saveAsNew = (): Promise<void> =>
    make(
      {
        name: name !== '' && name === kept?.name ? `${name} (copy)` : name,
        query: isForm ? queryOf(question) : kept?.query,
        dashboards: [...(moved?.added ?? [])],
      },
      { replace: false },
    );

  const maySave = useScope('insight:write');
  // What could never be answered is not kept anew. What is kept already does not hinder who writes a name beside it.
  const isWrong = settled === question && faultOf(failure, 'formula') !== undefined;
  const canSaveAsNew = !isForm || (isWhole(question) && !isWrong);
  const canSave = canSaveAsNew || (base !== undefined && !isTouched);
  const saveByEnter = (event: FormEvent): void => {
    event.preventDefault();
    if (maySave && canSave && !saving.isBusy) void saving.attempt(save);
  };

  const title = kept === undefined ? NEW : kept.name || kept.derived_name || 'Untitled';
  return (
    <Page
      title={title}
      actions={
        kept !== undefined && (
          <>
            <ToButton
              to={`/projects/${project}/alerts`}
              view={{ insight: String(kept.id) }}
              variant="default"
              size="xs"
            >
              Alerts
            </ToButton>
            <ToButton
              to={`/projects/${project}/subscriptions`}
              view={{ insight: String(kept.id) }}
              variant="default"
              size="xs"
            >
              Subscriptions
            </ToButton>
            <DeleteInsight project={project} insight={kept} />
          </>
        )
      }
    >
      <SimpleGrid cols={{ base: 1, lg: 2 }}>
        <Stack>
          {/* What was written from here on would not be on the page of the new insight. */}
          <Stack inert={saving.isBusy && base === undefined}>
            {isForm ? (
              <Builder
                project={project}
                question={question}
                change={change}
                run={ask}
                fault={question.kind === 'HogQLQuery' ? fault : faultOf(failure, 'formula')}
              />
            ) : (
              <Stack align="start">
                <Text size="sm">The form cannot say all of this query. It is kept as it is.</Text>
                <Code block tabIndex={0} w="100%">
                  {JSON.stringify(kept?.query, null, 2)}
                </Code>
                <Button variant="default" size="xs" onClick={() => change({})}>
                  Begin anew with the form
                </Button>
              </Stack>
            )}
            <form onSubmit={saveByEnter}>
              <TextInput label="Name" value={name} onChange={(event) => setName(event.currentTarget.value)} />
            </form>
            <DashboardsChoice
              label="On dashboards"
              project={project}
              value={boards.map(String)}
              onChange={(ids) => setBoards(ids.map(Number))}
            />
          </Stack>
          <Problem error={saving.error} />
          <Group>
            <ScopedButton
              scope="insight:write"
              loading={saving.isBusy}
              disabled={!canSave}
              onClick={() => void saving.attempt(save)}
            >
              Save
            </ScopedButton>
            {kept !== undefined && (
              <ScopedButton
                scope="insight:write"
                variant="default"
                disabled={!canSaveAsNew || saving.isBusy}
                onClick={() => void saving.attempt(saveAsNew)}
              >
                Save as new
              </ScopedButton>
            )}
          </Group>
        </Stack>
        <Card withBorder aria-busy={answer.isFetching}>
          {failure !== null && question.kind === 'HogQLQuery' && (
            <Alert color="red" variant="outline" role="alert">
              {fault ?? 'The service cannot be reached.'}
            </Alert>
          )}
          {failure !== null && question.kind !== 'HogQLQuery' && (
            <Problem error={failure} fields={['formula']} retry={ask} />
          )}
          {answer.data === undefined && answer.error === null && isAsked && <Loading />}
          {answer.data !== undefined && (
            <>
              <MayBeOld error={answer.error} retry={ask} />
              <LazyChart {...answer.data} />
              {isAsked && <Computed answer={answer.data.answer} ask={answer.refetch} />}
              <LoadedLater>
                <DownloadCsv {...answer.data} name={title} />
              </LoadedLater>
              {isForm && question.kind !== 'HogQLQuery' && !answer.isPlaceholderData && (
                <LoadedLater>
                  <DataRangeOffer
                    project={project}
                    {...answer.data}
                    question={settled}
                    choose={(range) => change({ range })}
                  />
                </LoadedLater>
              )}
            </>
          )}
        </Card>
      </SimpleGrid>
      {notice}
      <Unsaved isThere={isUnsaved} />
    </Page>
  );
}
