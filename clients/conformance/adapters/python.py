"""Drives the program of docs/guides/python.md, saved as agent.py in a folder: python3 python.py FOLDER."""
import contextlib, hashlib, json, os, sys, uuid
sys.path.insert(0, sys.argv[1])
import agent as program
from agent import Agent, Key, Refusal, Service, Unverified, agent_id_of, canonical, key_in, parse, seal, verify

ANSWERS = sys.stdout  # the program prints too


class Done(Exception):
    pass


class Handled(Agent):
    """Keeps which messages the program has handled, and leaves its loop behind one of them."""
    def receive(self, message):
        envelope = message['envelope']
        ack, self.service.acked = f'/v2/messages/{envelope["id"]}/ack', None
        super().receive(message)
        if self.service.acked == ack:
            self.handled.append(envelope['id'])
        self.is_last = envelope['id'] == self.until

    def save(self):
        super().save()
        if self.is_last:
            raise Done

    until, is_last = None, False


class Watched(Service):
    acked = None

    def call(self, method, target, value=None, signed=True):
        answer = super().call(method, target, value, signed)
        if target.endswith('/ack'):
            self.acked = target
        return answer


program.Service, me, told = Watched, None, {}


def start(given):
    global me
    os.chdir(given['folder'])
    program.TOLD = {}
    if not os.path.exists(given['name'] + '.key'):
        with open(given['name'] + '.key', 'w') as file:
            file.write(given['secret_key'])
    me = Handled(given['base_url'], given['name'])
    return {'keeps': True}


def register(given):
    return {'agent_id': me.key.agent_id, 'address': me.address}  # it registered when it started


def send(given):
    envelope = {'id': uuid.uuid4().hex, 'from': me.address, 'to': given['to'], 'type': 'event',
                'ts': program.time.strftime('%Y-%m-%dT%H:%M:%SZ', program.time.gmtime()), 'body': given['body']}
    envelope['sig'] = me.key.sign(canonical(envelope))
    if given.get('seal'):
        envelope = seal(envelope, me.key_of(given['to'].partition('@')[0]))
    return {'id': me.service.call('POST', '/v2/messages', envelope)['msg_id']}


def process(given):
    me.until, me.is_last, me.handled = given['until'], False, []
    try:
        me.run()
    except Done:
        return {'handled': me.handled}


def look_up(given):
    return {'agent_id': agent_id_of(me.key_of(given['name']))}


def tell(given):
    program.TOLD[given['name']] = given['agent_id']


def verify_envelope(given):
    envelope, place = given['envelope'], me.address if given['read_from'] == 'inbox' else given['read_from']
    try:
        if 'sender_key' in given:
            public_key = key_in(given['sender_key'])
        else:
            public_key = me.sender_of(envelope)[1]
        verify(envelope, me.key, public_key, place)
        return {'verdict': 'verified'}
    except Unverified as error:
        return {'verdict': str(error)}


OPERATIONS = {'start': start, 'register': register, 'send': send, 'process': process, 'look_up': look_up, 'tell': tell,
              'verify': verify_envelope}
for line in sys.stdin.buffer:
    request = parse(line)
    answer = {'id': request['id']}
    try:
        with contextlib.redirect_stdout(sys.stderr):
            if request['do'] in OPERATIONS:
                answer['ok'] = OPERATIONS[request['do']](request) or {}
            else:
                answer['unsupported'] = True
    except Exception as error:
        answer['error'] = {'code': getattr(error, 'code', None) or str(error) or type(error).__name__}
    print(json.dumps(answer), file=ANSWERS, flush=True)
