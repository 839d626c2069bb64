/** The parts of the reference, in its order, with a text about each; rows name theirs as `tag`. */
export const TAGS: Readonly<Record<string, string>> = {
  Users: 'Who asks, and where they are a member.',
  Organizations: 'What everything belongs to: people, projects, exports.',
  Members: 'Who is in an organization, and at which level: member, admin or owner.',
  Invitations: 'How somebody becomes a member. No mail is sent: the link is in the answer.',
  Projects: 'Where dashboards, insights and events lie. `/api/environments/…` is another name of `/api/projects/…`.',
  'Personal API keys': 'The keys of the caller: what they may do, where, and for how long.',
  Activity: 'Who did what to which object, when, with which key and in which request.',
  Dashboards: 'Dashboards and their tiles.',
  'Dashboard collaborators': 'Who may edit a dashboard that is restricted.',
  'Dashboard sharing': 'Links that open a dashboard without a key.',
  'Dashboard access': 'Who may see and edit a dashboard.',
  Insights: 'What tiles show.',
  'Batch exports': 'Schedules that deliver the rows of every interval to a destination.',
  'Batch export runs': 'Single deliveries: how each ended, its log; retry and cancel.',
  'Batch export backfills': 'Deliveries of past intervals.',
  Reference: 'This document.',
};
