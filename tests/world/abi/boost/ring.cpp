// Serialized objects around a ring, collectives with a functor, a split world.
#include <boost/mpi.hpp>
#include <boost/serialization/map.hpp>
#include <boost/serialization/string.hpp>
#include <boost/serialization/vector.hpp>
#include <functional>
#include <iostream>

namespace mpi = boost::mpi;

int main(int argc, char **argv)
{
    mpi::environment env(argc, argv);
    mpi::communicator world;
    int rank = world.rank(), size = world.size();
    std::map<std::string, std::vector<int>> mine{{"rank", {rank}}, {"many", std::vector<int>(10000, rank)}}, got;
    mpi::request r = world.isend((rank + 1) % size, 7, mine);
    world.recv((rank + size - 1) % size, 7, got);
    r.wait();
    int sum = mpi::all_reduce(world, got["rank"][0] + (int)got["many"].size(), std::plus<int>());
    std::string longest = mpi::all_reduce(world, std::string(rank + 1, 'x'), [](std::string const &a, std::string const &b) { return a.size() > b.size() ? a : b; });
    mpi::communicator half = world.split(rank % 2);
    std::vector<std::string> all;
    mpi::gather(world, std::to_string(half.size()) + "/" + std::to_string(half.rank()), all, 0);
    if (rank == 0) {
        std::cout << "answer " << sum << ' ' << longest;
        for (auto const &s : all)
            std::cout << ' ' << s;
        std::cout << std::endl;
    }
    return 0;
}
