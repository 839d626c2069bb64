import { Button, Code, Group, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { capitalized } from '../../basics/text.ts';
import { Refusal } from '../client/api.ts';
import { useEventNames } from '../client/events.ts';
import { insightName, useInsight } from '../client/insights.ts';
import { FORMULA_FIELDS } from '../client/question-query.ts';
import { FIRST_QUESTION, firstQuestion, type Question } from '../client/questions.ts';
import { useParam, useView } from '../parts/address.ts';
import { DashboardsChoice } from '../parts/dashboards/dashboard-choice.tsx';
import { AnswerCard } from '../parts/insights/answer-card.tsx';
import { Builder } from '../parts/insights/builder.tsx';
import { DeleteInsight } from '../parts/insights/delete-insight.tsx';
import { type InsightFormOptions, useInsightForm } from '../parts/insights/insight-form.ts';
import { Loading } from '../parts/loading.tsx';
import { AwaitedPage, Page } from '../parts/page.tsx';
import { faultOf, Problem } from '../parts/problem.tsx';
import { ScopedButton } from '../parts/scoped-button.tsx';
import { ToButton } from '../parts/to.tsx';
import { Unsaved } from '../parts/unsaved.tsx';

const NEW = 'New insight';

export default function InsightPage() {
  const project = useParam('project');
  const id = useParam('id');
  const isNew = id === 'new';
  const asked = useInsight(project, isNew ? undefined : id);
  const [isAnew, setAnew] = useState(0);
  const look = (): void => setAnew((times) => times + 1);
  if (isNew) return <NewInsight key={project} project={project} look={look} />;
  // A form does not begin with what was read for another page: it may be true no longer.
  if (asked.data !== undefined && asked.isFetchedAfterMount)
    return <InsightEditor key={isAnew} project={project} first={FIRST_QUESTION} seen={asked.data} look={look} />;
  return <AwaitedPage title="Insight" asked={asked} />;
}

/** Begins with events that the project has. */
function NewInsight({ project, look }: Pick<InsightFormOptions, 'project' | 'look'>) {
  const names = useEventNames(project, { anew: true });
  const [first, setFirst] = useState<Question>();
  const [{ dashboard }] = useView();
  if (first === undefined && !names.isFetching) setFirst(firstQuestion(names.data?.results ?? [], Date.now()));
  if (first !== undefined) {
    // What is no number is no dashboard.
    const boards = /^[1-9]\d{0,14}$/.test(dashboard ?? '') ? [Number(dashboard)] : [];
    return <InsightEditor project={project} first={first} boards={boards} seen={undefined} look={look} />;
  }
  return (
    <Page title={NEW}>
      <Loading />
    </Page>
  );
}

/** Asks and keeps a question. */
function InsightEditor({ project, ...options }: InsightFormOptions) {
  const form = useInsightForm({ project, ...options });
  const { kept, question, change, isForm, saving } = form;
  const { isAsked, answer, failure } = form.asking;
  const fault = failure instanceof Refusal ? failure.message : undefined;
  const saveByEnter = (event: FormEvent): void => {
    event.preventDefault();
    form.save();
  };

  const title = kept === undefined ? NEW : insightName(kept);
  return (
    <Page
      title={title}
      actions={
        kept !== undefined && (
          <>
            {['alerts', 'subscriptions'].map((list) => (
              <ToButton
                key={list}
                to={`/projects/${project}/${list}`}
                view={{ insight: String(kept.id) }}
                variant="default"
                size="xs"
              >
                {capitalized(list)}
              </ToButton>
            ))}
            <DeleteInsight project={project} insight={kept} />
          </>
        )
      }
    >
      <SimpleGrid cols={{ base: 1, lg: 2 }}>
        <Stack>
          {/* What was written from here on would not be on the page of the new insight. */}
          <Stack inert={saving.isBusy && kept === undefined}>
            {isForm ? (
              <Builder
                project={project}
                question={question}
                change={change}
                run={() => isAsked && void answer.refetch()}
                fault={question.kind === 'HogQLQuery' ? fault : faultOf(failure, ...FORMULA_FIELDS)}
              />
            ) : (
              <Stack align="start">
                <Text size="sm">The form cannot show this query. It is kept as it is.</Text>
                <Code block tabIndex={0} w="100%">
                  {JSON.stringify(kept?.query, null, 2)}
                </Code>
                <Button variant="default" size="xs" onClick={() => change({})}>
                  Begin anew with the form
                </Button>
              </Stack>
            )}
            <form onSubmit={saveByEnter}>
              <TextInput label="Name" value={form.name} onChange={(event) => form.setName(event.currentTarget.value)} />
            </form>
            <DashboardsChoice
              label="On dashboards"
              project={project}
              value={form.boards.map(String)}
              onChange={(ids) => form.setBoards(ids.map(Number))}
            />
          </Stack>
          <Problem error={saving.error} />
          <Group>
            <ScopedButton scope="insight:write" loading={saving.isBusy} disabled={!form.canSave} onClick={form.save}>
              Save
            </ScopedButton>
            {kept !== undefined && (
              <ScopedButton
                scope="insight:write"
                variant="default"
                disabled={!form.canSaveAsNew || saving.isBusy}
                onClick={form.saveAsNew}
              >
                Save as new
              </ScopedButton>
            )}
          </Group>
        </Stack>
        <AnswerCard project={project} form={form} title={title} />
      </SimpleGrid>
      {form.notice}
      <Unsaved isThere={form.isUnsaved} />
    </Page>
  );
}
