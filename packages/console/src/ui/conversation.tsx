/** One conversation of a board with its voice server: its state and connection quality, never its content. */
import type { VoiceSession } from "@tendon/protocol";
import type { ReactNode } from "react";
import { useI18n } from "../i18n/i18n.tsx";
import { Icon } from "./icon.tsx";
import { Badge } from "./states.tsx";
import { useNow } from "./time.tsx";

const looks = {
  opening: { tone: "neutral", icon: "connect" },
  idle: { tone: "neutral", icon: "clock" },
  listening: { tone: "accent", icon: "voice" },
  speaking: { tone: "ok", icon: "volume" },
  ending: { tone: "neutral", icon: "exit" },
} as const;

/** The state as icon and text, marked as last known while the page is not live. */
export function ConversationState({
  conversation,
  fresh,
}: {
  readonly conversation: VoiceSession;
  readonly fresh: boolean;
}) {
  const { t } = useI18n();
  const { tone, icon } = looks[conversation.state];
  return (
    <span role="status">
      <Badge tone={fresh ? tone : "neutral"}>
        <Icon name={icon} size={12} />
        {fresh ? t(`voice.state.${conversation.state}`) : t("device.lastKnown")}
      </Badge>
    </span>
  );
}

export function ConversationDetails(props: {
  readonly conversation: VoiceSession;
  readonly fresh: boolean;
  /** Shows the conversation in one line. */
  readonly wide?: boolean;
}) {
  const { conversation, fresh, wide = false } = props;
  const { t } = useI18n();
  return (
    <dl
      className={`grid grid-cols-2 gap-x-4 gap-y-3 ${wide ? "lg:grid-cols-[minmax(0,1.1fr)_5rem_minmax(0,2.2fr)_minmax(0,2.2fr)]" : ""}`}
    >
      <Fact name={t("voice.upstream")}>
        <span className="block truncate" title={conversation.upstream}>
          {conversation.upstream}
        </span>
      </Fact>
      <Fact name={t("voice.lasts")}>
        <Duration since={conversation.startedAt} ticking={fresh} />
      </Fact>
      <Fact name={t("voice.up")} whole={!wide}>
        <Way way={conversation.up} />
      </Fact>
      <Fact name={t("voice.down")} whole={!wide}>
        <Way way={conversation.down} />
      </Fact>
    </dl>
  );
}

function Fact(props: { readonly name: string; readonly whole?: boolean; readonly children: ReactNode }) {
  const { name, whole = false, children } = props;
  return (
    <div className={`min-w-0 ${whole ? "col-span-2" : ""}`}>
      <dt className="text-xs text-soft">{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Way({ way }: { readonly way: VoiceSession["up"] }) {
  const { t, n, number } = useI18n();
  const all = way.packets + way.lost;
  const lost = all === 0 ? 0 : (100 * way.lost) / all;
  return (
    <span className="flex flex-wrap gap-x-3">
      <span>{n("voice.packets", way.packets)}</span>
      <span
        className={lost >= 1 ? "font-medium text-warn" : "text-soft"}
        title={n("voice.packets", way.lost)}
      >
        {t("voice.lost", { percent: number(Math.round(lost * 10) / 10) })}
      </span>
      <span className="text-soft">{t("voice.jitter", { ms: number(way.jitterMs) })}</span>
    </span>
  );
}

/** A duration such as 3:07 or 1:02:45. It stops while the page is not live. */
function Duration({ since, ticking }: { readonly since: string; readonly ticking: boolean }) {
  const { exact, clock } = useI18n();
  const now = Math.max(useNow(), Date.now());
  const began = new Date(since);
  const seconds = Math.max(0, Math.floor((now - began.getTime()) / 1000));
  return (
    <time dateTime={since} title={exact(began)}>
      {ticking ? formatDuration(seconds) : clock(began)}
    </time>
  );
}

function formatDuration(seconds: number): string {
  const two = (value: number) => String(value).padStart(2, "0");
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const rest = two(seconds % 60);
  return hours === 0 ? `${minutes}:${rest}` : `${hours}:${two(minutes)}:${rest}`;
}
