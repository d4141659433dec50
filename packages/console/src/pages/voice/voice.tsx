/** The active conversations with their voice servers and connection quality. Their content is never shown. */
import type { VoiceSession } from "@tendon/protocol";
import { useMemo } from "react";
import { Link } from "wouter";
import { useConversations } from "../../api/conversations.ts";
import { useSession } from "../../api/session.tsx";
import { useI18n } from "../../i18n/i18n.tsx";
import { deviceAddress } from "../../shell/navigation.ts";
import { PageHeader } from "../../shell/page-header.tsx";
import { ConversationDetails, ConversationState } from "../../ui/conversation.tsx";
import { CodeBlock } from "../../ui/copy.tsx";
import { GuideLink } from "../../ui/guide-link.tsx";
import { ProblemNote } from "../../ui/problem.tsx";
import { Empty, Panel, SkeletonRows } from "../../ui/states.tsx";

/** Enough to read, and few enough to update every second. */
const maxShown = 100;
const example = "voice:\n  upstream: ws://192.168.1.20:8000/xiaozhi/v1/";
const tryIt = "simulate esp32 --transport mqtt --speak 5s";

export function VoicePage() {
  const { t, n } = useI18n();
  const { gateway, may } = useSession();
  const { conversations, error, fresh } = useConversations();
  const busy = conversations !== undefined && conversations.length > 0;
  return (
    <>
      <PageHeader
        title={t("voice.title")}
        lead={
          <span role="status">
            {busy && fresh
              ? n("voice.talking", conversations.length)
              : t(busy ? "live.memory" : "voice.lead")}
          </span>
        }
      />
      {!may("read") && <p className="text-soft">{t("voice.mayNot")}</p>}
      {may("read") && !gateway.voice && <NotSetUp />}
      {error !== null && <ProblemNote error={error} />}
      {may("read") && gateway.voice && conversations === undefined && error === null && (
        <SkeletonRows rows={3} />
      )}
      {conversations?.length === 0 && <NoConversations fresh={fresh} />}
      {busy && <Conversations conversations={conversations} fresh={fresh} />}
    </>
  );
}

function NotSetUp() {
  const { t } = useI18n();
  return (
    <Empty icon="voice" title={t("voice.none")}>
      <p>{t("voice.noneHint")}</p>
      <div className="w-full text-left">
        <CodeBlock text={example} label="tendon.yaml" />
      </div>
      <GuideLink guide="voice">{t("action.guide")}</GuideLink>
    </Empty>
  );
}

function NoConversations({ fresh }: { readonly fresh: boolean }) {
  const { t } = useI18n();
  const { gateway } = useSession();
  return (
    <Empty icon="voice" title={t(fresh ? "voice.quiet" : "voice.wasQuiet")}>
      <p>{t("voice.quietHint")}</p>
      <div className="w-full text-left">
        <CodeBlock text={`${gateway.command} ${tryIt}`} label={t("copy.command")} />
      </div>
      <GuideLink guide="voice">{t("action.guide")}</GuideLink>
    </Empty>
  );
}

function Conversations({
  conversations,
  fresh,
}: {
  readonly conversations: readonly VoiceSession[];
  readonly fresh: boolean;
}) {
  const { t, n } = useI18n();
  // The longest first, so that a conversation keeps its position.
  const shown = useMemo(
    () => [...conversations].sort((a, b) => a.startedAt.localeCompare(b.startedAt)).slice(0, maxShown),
    [conversations],
  );
  return (
    <Panel label={t("voice.title")}>
      <ul className="divide-y divide-line">
        {shown.map((conversation) => (
          <li
            key={`${conversation.device} ${conversation.startedAt}`}
            className="grid grid-cols-1 gap-3 p-4 lg:grid-cols-[10rem_minmax(0,1fr)] lg:items-center"
          >
            <span className="flex min-w-0 items-center justify-between gap-3 lg:flex-col lg:items-start lg:gap-1">
              <Link
                href={deviceAddress(conversation.device)}
                className="max-w-full truncate rounded font-medium hover:text-accent-deep"
              >
                {conversation.alias}
              </Link>
              <ConversationState conversation={conversation} fresh={fresh} />
            </span>
            <ConversationDetails conversation={conversation} fresh={fresh} wide />
          </li>
        ))}
      </ul>
      {conversations.length > maxShown && (
        <p className="border-t border-line p-4 text-soft">
          {n("voice.more", conversations.length - maxShown)}
        </p>
      )}
    </Panel>
  );
}
