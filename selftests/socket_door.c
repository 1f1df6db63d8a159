#include "sdp_socket.h"
