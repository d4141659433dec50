import type { DeviceDetail } from "@tendon/protocol";
import { useTalks } from "../../api/talks.ts";
import { useWords } from "../../i18n/i18n.tsx";
import { Panel } from "../../ui/states.tsx";
import { TalkFacts, TalkState } from "../../ui/talk.tsx";

/** There while the board talks to its voice server, and only then. */
export function VoicePanel({ device }: { readonly device: DeviceDetail }) {
  const { t } = useWords();
  const { talks, fresh } = useTalks();
  const talk = talks?.find((each) => each.device === device.id);
  if (talk === undefined) return null;
  return (
    <Panel title={t("voice.title")} actions={<TalkState talk={talk} fresh={fresh} />}>
      <div className="px-4 pt-1 pb-4">
        <TalkFacts talk={talk} fresh={fresh} />
        {!fresh && <p className="mt-3 text-sm text-soft">{t("live.memory")}</p>}
      </div>
    </Panel>
  );
}
